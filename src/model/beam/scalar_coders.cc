#include "model/beam/scalar_coders.h"

#include <bit>
#include <string>

#include "model/coder.h"

namespace hornbeam::model::beam {
namespace {

// How a typed Coder<T> of the engine becomes one of these: the bytes are the same.
template <typename T>
class TypedCoder final : public Coder {
 public:
  bool Encode(const Value& value, Context, std::string* out) const override {
    const T* typed = value.As<T>();
    if (typed == nullptr) return false;
    model::Coder<T>::Encode(*typed, out);
    return true;
  }
  bool Decode(ByteReader& in, Context, Value* value) const override {
    T typed{};
    if (!model::Coder<T>::Decode(in, &typed)) return false;
    value->is = typed;
    return true;
  }
};

// Also of strings: what is not UTF-8 is passed on as it is.
class BytesCoder final : public Coder {
 public:
  bool Encode(const Value& value, Context context, std::string* out) const override {
    const auto* bytes = value.As<std::string>();
    if (bytes == nullptr) return false;
    if (context == Context::kNested) PutVarint(out, bytes->size());
    out->append(*bytes);
    return true;
  }
  bool Decode(ByteReader& in, Context context, Value* value) const override {
    const std::string_view bytes = context == Context::kNested ? in.Bytes() : in.Raw(in.remaining());
    value->is = std::string(bytes);
    return in.ok();
  }
};

class ByteCoder final : public Coder {
 public:
  bool Encode(const Value& value, Context, std::string* out) const override {
    const auto* number = value.As<int64_t>();
    if (number == nullptr) return false;
    out->push_back(static_cast<char>(*number));
    return true;
  }
  bool Decode(ByteReader& in, Context, Value* value) const override {
    value->is = static_cast<int64_t>(static_cast<int8_t>(in.Byte()));
    return in.ok();
  }
};

class Int16Coder final : public Coder {
 public:
  bool Encode(const Value& value, Context, std::string* out) const override {
    const auto* number = value.As<int64_t>();
    if (number == nullptr) return false;
    out->push_back(static_cast<char>(*number >> 8));
    out->push_back(static_cast<char>(*number));
    return true;
  }
  bool Decode(ByteReader& in, Context, Value* value) const override {
    const uint8_t high = in.Byte();
    value->is = static_cast<int64_t>(static_cast<int16_t>((high << 8) | in.Byte()));
    return in.ok();
  }
};

class FloatCoder final : public Coder {
 public:
  bool Encode(const Value& value, Context, std::string* out) const override {
    const auto* number = value.As<double>();
    if (number == nullptr) return false;
    model::internal::PutBigEndian32(out, std::bit_cast<uint32_t>(static_cast<float>(*number)));
    return true;
  }
  bool Decode(ByteReader& in, Context, Value* value) const override {
    value->is = static_cast<double>(std::bit_cast<float>(model::internal::BigEndian32(in)));
    return in.ok();
  }
};

}  // namespace

std::shared_ptr<const Coder> MakeScalarCoder(std::string_view urn) {
  if (urn == "beam:coder:bytes:v1" || urn == "beam:coder:string_utf8:v1") return std::make_shared<BytesCoder>();
  if (urn == "beam:coder:bool:v1") return std::make_shared<TypedCoder<bool>>();
  if (urn == "beam:coder:varint:v1") return std::make_shared<TypedCoder<int64_t>>();
  if (urn == "beam:coder:double:v1") return std::make_shared<TypedCoder<double>>();
  return nullptr;
}

std::shared_ptr<const Coder> MakeByteCoder() { return std::make_shared<ByteCoder>(); }
std::shared_ptr<const Coder> MakeInt16Coder() { return std::make_shared<Int16Coder>(); }
std::shared_ptr<const Coder> MakeFloatCoder() { return std::make_shared<FloatCoder>(); }

}  // namespace hornbeam::model::beam
