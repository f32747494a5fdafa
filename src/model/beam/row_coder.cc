#include "model/beam/row_coder.h"

#include <string>
#include <utility>
#include <vector>

#include "model/beam/scalar_coders.h"
#include "model/beam/schema.h"
#include "model/coder.h"

namespace hornbeam::model::beam {
namespace {

CoderPtr Varint() { return MakeScalarCoder("beam:coder:varint:v1"); }
CoderPtr Bytes() { return MakeScalarCoder("beam:coder:bytes:v1"); }

class MillisInstantCoder final : public Coder {
 public:
  bool Encode(const Value& value, Context, std::string* out) const override {
    const auto* bits = value.As<int64_t>();
    if (bits == nullptr) return false;
    model::internal::PutBigEndian64(out, static_cast<uint64_t>(*bits));
    return true;
  }
  bool Decode(ByteReader& in, Context, Value* value) const override {
    value->is = static_cast<int64_t>(model::internal::BigEndian64(in));
    return in.ok();
  }
};

class RowCoder final : public Coder {
 public:
  struct Field {
    CoderPtr coder;
    bool nullable;
  };

  // `order`: the fields' places, in the order in which they are written.
  RowCoder(std::vector<Field> fields, std::vector<size_t> order) : fields_(std::move(fields)), order_(std::move(order)) {}

  bool Encode(const Value& value, Context, std::string* out) const override {
    const auto* row = value.As<List>();
    if (row == nullptr || row->size() != fields_.size()) return false;
    PutVarint(out, fields_.size());
    PutBytes(out, NullBits(*row));
    for (const size_t i : order_) {
      const Value& field = (*row)[i];
      if (field.is_null() ? !fields_[i].nullable : !fields_[i].coder->Encode(field, Context::kNested, out)) return false;
    }
    return true;
  }

  // A row of an older schema has fewer fields: the others are null.
  bool Decode(ByteReader& in, Context, Value* value) const override {
    const uint64_t count = in.Varint();
    const std::string_view nulls = in.Bytes();
    if (!in.ok() || count > fields_.size()) return false;
    List row(fields_.size());
    for (const size_t i : order_) {
      if (i >= count || IsNull(nulls, i)) {
        if (!fields_[i].nullable) return false;
      } else if (!fields_[i].coder->Decode(in, Context::kNested, &row[i])) {
        return false;
      }
    }
    value->is = std::move(row);
    return true;
  }

 private:
  static bool IsNull(std::string_view bits, size_t i) { return i / 8 < bits.size() && (bits[i / 8] >> (i % 8)) & 1; }
  // Empty where there are none.
  static std::string NullBits(const List& row) {
    std::string bits((row.size() + 7) / 8, '\0');
    bool any = false;
    for (size_t i = 0; i < row.size(); ++i) {
      if (!row[i].is_null()) continue;
      bits[i / 8] = static_cast<char>(bits[i / 8] | (1 << (i % 8)));
      any = true;
    }
    return any ? bits : std::string();
  }

  const std::vector<Field> fields_;
  const std::vector<size_t> order_;
};

CoderPtr CoderOf(const FieldType& type);

CoderPtr RowOf(const FieldType& type) {
  std::vector<RowCoder::Field> fields;
  std::vector<size_t> order(type.fields.size());
  for (size_t i = 0; i < type.fields.size(); ++i) {
    fields.push_back({CoderOf(type.fields[i].type), type.fields[i].type.nullable});
    order[type.fields[i].encoding_position] = i;
  }
  return std::make_shared<RowCoder>(std::move(fields), std::move(order));
}

CoderPtr AtomicOf(AtomicType type) {
  switch (type) {
    case AtomicType::kByte: return MakeByteCoder();
    case AtomicType::kInt16: return MakeInt16Coder();
    case AtomicType::kInt32:
    case AtomicType::kInt64: return Varint();
    case AtomicType::kFloat: return MakeFloatCoder();
    case AtomicType::kDouble: return MakeScalarCoder("beam:coder:double:v1");
    case AtomicType::kString:
    case AtomicType::kBytes: return Bytes();
    case AtomicType::kBoolean: return MakeScalarCoder("beam:coder:bool:v1");
  }
  return nullptr;
}

// Of an element of an array or map, which says itself whether it is null.
CoderPtr ComponentOf(const FieldType& type) { return type.nullable ? MakeNullableCoder(CoderOf(type)) : CoderOf(type); }

CoderPtr CoderOf(const FieldType& type) {
  switch (type.kind) {
    case FieldType::Kind::kAtomic: return AtomicOf(type.atomic);
    case FieldType::Kind::kArray: return MakeIterableCoder(ComponentOf(type.components[0]), {});
    case FieldType::Kind::kMap:
      return MakeIterableCoder(MakeKvCoder(ComponentOf(type.components[0]), ComponentOf(type.components[1])), {});
    case FieldType::Kind::kRow: return RowOf(type);
    case FieldType::Kind::kLogical:
      if (type.logical_urn == "beam:logical_type:millis_instant:v1") return std::make_shared<MillisInstantCoder>();
      if (type.logical_urn == "beam:logical_type:decimal:v1") return MakeKvCoder(Varint(), Bytes());
      return CoderOf(type.components[0]);
    case FieldType::Kind::kNone: break;
  }
  return nullptr;  // ParseSchema lets no field without a type through
}

}  // namespace

StatusOr<CoderPtr> MakeRowCoder(std::string_view payload) {
  HB_ASSIGN_OR_RETURN(const FieldType schema, ParseSchema(payload));
  return RowOf(schema);
}

}  // namespace hornbeam::model::beam
