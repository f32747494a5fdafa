#include "engine/state/cell.h"

#include <cstddef>

#include "base/status.h"
#include "engine/state/state_member.h"

namespace hornbeam::engine {
namespace {

size_t AlignUp(size_t offset, size_t align) { return (offset + align - 1) / align * align; }

}  // namespace

CellLayout::CellLayout(const KeyType* key, std::vector<StateMember*> members) : key_(key), members_(std::move(members)) {
  HB_CHECK(members_.size() <= kMostMembers);
  key_offset_ = AlignUp(sizeof(Cell), key->align);
  size_ = key_offset_ + key->size;
  PutVarint(&declaration_, members_.size());
  for (size_t i = 0; i < members_.size(); ++i) {
    size_ = AlignUp(size_, members_[i]->slot_align());
    offsets_.push_back(size_);
    members_[i]->Place(i, size_);
    size_ += members_[i]->slot_size();
    PutBytes(&declaration_, members_[i]->name());
    PutFixed32(&declaration_, Checksum(members_[i]->type()));
  }
  size_ = AlignUp(size_, alignof(std::max_align_t));
}

Cell* CellLayout::Construct(void* memory, const model::KeyHash& hash, const void* key) const {
  Cell* const cell = new (memory) Cell{.hash = hash};
  key_->copy(const_cast<void*>(key_of(cell)), key);
  for (size_t i = 0; i < members_.size(); ++i) members_[i]->Construct(slot(cell, i));
  return cell;
}

void CellLayout::Destroy(Cell* cell) const {
  for (size_t i = 0; i < members_.size(); ++i) members_[i]->Destroy(slot(cell, i));
  key_->destroy(const_cast<void*>(key_of(cell)));
  cell->~Cell();
}

}  // namespace hornbeam::engine
