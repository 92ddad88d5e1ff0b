#include "devices/ptx/special.hpp"

#include <unordered_map>

namespace assay::ptx {
namespace {

const std::unordered_map<std::string_view, Special>& names() {
  static const std::unordered_map<std::string_view, Special> map = {
      {"%tid.x", Special::tid_x},
      {"%tid.y", Special::tid_y},
      {"%tid.z", Special::tid_z},
      {"%ntid.x", Special::ntid_x},
      {"%ntid.y", Special::ntid_y},
      {"%ntid.z", Special::ntid_z},
      {"%ctaid.x", Special::ctaid_x},
      {"%ctaid.y", Special::ctaid_y},
      {"%ctaid.z", Special::ctaid_z},
      {"%nctaid.x", Special::nctaid_x},
      {"%nctaid.y", Special::nctaid_y},
      {"%nctaid.z", Special::nctaid_z},
      {"%laneid", Special::laneid},
      {"%warpid", Special::warpid},
      {"%nwarpid", Special::nwarpid},
      {"%smid", Special::smid},
      {"%nsmid", Special::nsmid},
      {"%gridid", Special::gridid},
      {"%clock", Special::clock},
      {"%clock64", Special::clock64},
      {"%globaltimer", Special::globaltimer},
      {"%lanemask_eq", Special::lanemask_eq},
      {"%lanemask_lt", Special::lanemask_lt},
      {"%lanemask_le", Special::lanemask_le},
      {"%lanemask_gt", Special::lanemask_gt},
      {"%lanemask_ge", Special::lanemask_ge},
      {"%dynamic_smem_size", Special::dynamic_smem_size},
      {"%total_smem_size", Special::total_smem_size},
      {"%clusterid.x", Special::clusterid_x},
      {"%nclusterid.x", Special::nclusterid_x},
      {"%cluster_ctaid.x", Special::cluster_ctaid_x},
      {"%cluster_nctaid.x", Special::cluster_nctaid_x},
      {"%cluster_ctarank", Special::cluster_ctarank},
  };
  return map;
}

/// Beginnings of the others, which only a GPU has a value for.
constexpr std::string_view kOthers[] = {
    "%clusterid.",       "%nclusterid.",
    "%cluster_ctaid.",   "%cluster_nctaid.",
    "%cluster_nctarank", "%is_explicit_cluster",
    "%clock_hi",         "%globaltimer_lo",
    "%globaltimer_hi",   "%pm",
    "%envreg",           "%reserved_smem_",
    "%aggr_smem_size",   "%current_graph_exec",
};

}  // namespace

Special special_named(std::string_view name) {
  const auto found = names().find(name);
  return found == names().end() ? Special::none : found->second;
}

bool is_special_name(std::string_view name) {
  if (special_named(name) != Special::none) return true;
  for (const auto start : kOthers) {
    if (name.starts_with(start)) return true;
  }
  return false;
}

int bytes_of(Special special) {
  const bool wide =
      special == Special::gridid || special == Special::clock64 || special == Special::globaltimer;
  return wide ? 8 : 4;
}

}  // namespace assay::ptx
