/*
 * Compiles if the library's own declarations of NVTX (nvtx/abi.h) agree with the real headers; see
 * check_nvtx_abi.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtMem.h>

#include <assert.h>
#include <stddef.h>

#include "nvtx/abi.h"

#define same(ours, theirs) static_assert((ours) == (theirs), #theirs)

/* ---- Numbers ----------------------------------------------------------- */

same(CUAI_NVTX_VERSION, NVTX_VERSION);
same(CUAI_NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
same(CUAI_NVTX_TABLE_VERSION, NVTX_ETID_VERSIONINFO);
same(CUAI_NVTX_MODULE_FIRST, NVTX_CB_MODULE_CORE);
same(CUAI_NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
same(CUAI_NVTX_MODULE_LAST + 1, NVTX_CB_MODULE_SIZE);
same(CUAI_NVTX_RANGE_PUSH, NVTX_CBID_CORE2_DomainRangePushEx);
same(CUAI_NVTX_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
same(CUAI_NVTX_DOMAIN_CREATE, NVTX_CBID_CORE2_DomainCreateA);
same(CUAI_NVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
same(CUAI_NVTX_PAYLOAD_UINT64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
same(CUAI_NVTX_EXTENSION_MEMORY, NVTX_EXT_MODULEID_MEM);
same(CUAI_NVTX_MEMORY_VERSION, NVTX_EXT_COMPATID_MEM);
same(CUAI_NVTX_HEAP_REGISTER, NVTX3EXT_CBID_nvtxMemHeapRegister);
same(CUAI_NVTX_HEAP_UNREGISTER, NVTX3EXT_CBID_nvtxMemHeapUnregister);
same(CUAI_NVTX_HEAP_RESET, NVTX3EXT_CBID_nvtxMemHeapReset);
same(CUAI_NVTX_REGIONS_REGISTER, NVTX3EXT_CBID_nvtxMemRegionsRegister);
same(CUAI_NVTX_REGIONS_RESIZE, NVTX3EXT_CBID_nvtxMemRegionsResize);
same(CUAI_NVTX_REGIONS_UNREGISTER, NVTX3EXT_CBID_nvtxMemRegionsUnregister);
same(CUAI_NVTX_REGIONS_NAME, NVTX3EXT_CBID_nvtxMemRegionsName);
same(CUAI_NVTX_USAGE_SUB_ALLOCATOR, NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR);
same(CUAI_NVTX_VIRTUAL_ADDRESS, NVTX_MEM_TYPE_VIRTUAL_ADDRESS);
same(CUAI_NVTX_BY_POINTER, NVTX_MEM_REGION_REF_TYPE_POINTER);

static const int sizes[] = CUAI_NVTX_MODULE_SIZES;
static const int real_sizes[] = {0,
                                 NVTX_CBID_CORE_SIZE,
                                 NVTX_CBID_CUDA_SIZE,
                                 NVTX_CBID_OPENCL_SIZE,
                                 NVTX_CBID_CUDART_SIZE,
                                 NVTX_CBID_CORE2_SIZE,
                                 NVTX_CBID_SYNC_SIZE};
same(sizeof sizes, sizeof real_sizes);

/* ---- Layouts ----------------------------------------------------------- */

#define same_size(ours, theirs) same(sizeof(ours), sizeof(theirs))
#define same_member(ours, member, theirs, their_member)                                            \
    same(offsetof(ours, member), offsetof(theirs, their_member));                                  \
    same_size(((ours *)0)->member, ((theirs *)0)->their_member)

same_size(cuai_nvtx_callbacks_t, NvtxExportTableCallbacks);
same_member(cuai_nvtx_callbacks_t, get_module, NvtxExportTableCallbacks, GetModuleFunctionTable);
same_size(cuai_nvtx_version_t, NvtxExportTableVersionInfo);
same_member(cuai_nvtx_version_t, version, NvtxExportTableVersionInfo, version);
same_member(cuai_nvtx_version_t, set_tool, NvtxExportTableVersionInfo, SetInjectionNvtxVersion);

same_size(cuai_nvtx_event_t, nvtxEventAttributes_t);
same_member(cuai_nvtx_event_t, version, nvtxEventAttributes_t, version);
same_member(cuai_nvtx_event_t, struct_size, nvtxEventAttributes_t, size);
same_member(cuai_nvtx_event_t, category, nvtxEventAttributes_t, category);
same_member(cuai_nvtx_event_t, color_type, nvtxEventAttributes_t, colorType);
same_member(cuai_nvtx_event_t, color, nvtxEventAttributes_t, color);
same_member(cuai_nvtx_event_t, payload_type, nvtxEventAttributes_t, payloadType);
same_member(cuai_nvtx_event_t, payload, nvtxEventAttributes_t, payload);
same_member(cuai_nvtx_event_t, message_type, nvtxEventAttributes_t, messageType);
same_member(cuai_nvtx_event_t, message, nvtxEventAttributes_t, message);

same_size(cuai_nvtx_functions_t, nvtxExtModuleSegment_t);
same_member(cuai_nvtx_functions_t, number, nvtxExtModuleSegment_t, segmentId);
same_member(cuai_nvtx_functions_t, count, nvtxExtModuleSegment_t, slotCount);
same_member(cuai_nvtx_functions_t, functions, nvtxExtModuleSegment_t, functionSlots);
same_size(cuai_nvtx_extension_t, nvtxExtModuleInfo_t);
same_member(cuai_nvtx_extension_t, version, nvtxExtModuleInfo_t, nvtxVer);
same_member(cuai_nvtx_extension_t, struct_size, nvtxExtModuleInfo_t, structSize);
same_member(cuai_nvtx_extension_t, extension, nvtxExtModuleInfo_t, moduleId);
same_member(cuai_nvtx_extension_t, extension_version, nvtxExtModuleInfo_t, compatId);
same_member(cuai_nvtx_extension_t, segment_count, nvtxExtModuleInfo_t, segmentsCount);
same_member(cuai_nvtx_extension_t, segments, nvtxExtModuleInfo_t, segments);
same_member(cuai_nvtx_extension_t, get_export, nvtxExtModuleInfo_t, getExportFunction);
same_member(cuai_nvtx_extension_t, more, nvtxExtModuleInfo_t, extInfo);

same_size(cuai_nvtx_range_t, nvtxMemVirtualRangeDesc_t);
same_member(cuai_nvtx_range_t, bytes, nvtxMemVirtualRangeDesc_t, size);
same_member(cuai_nvtx_range_t, pointer, nvtxMemVirtualRangeDesc_t, ptr);
same_size(cuai_nvtx_heap_desc_t, nvtxMemHeapDesc_t);
same_member(cuai_nvtx_heap_desc_t, version, nvtxMemHeapDesc_t, extCompatID);
same_member(cuai_nvtx_heap_desc_t, struct_size, nvtxMemHeapDesc_t, structSize);
same_member(cuai_nvtx_heap_desc_t, usage, nvtxMemHeapDesc_t, usage);
same_member(cuai_nvtx_heap_desc_t, type, nvtxMemHeapDesc_t, type);
same_member(cuai_nvtx_heap_desc_t, range_size, nvtxMemHeapDesc_t, typeSpecificDescSize);
same_member(cuai_nvtx_heap_desc_t, range, nvtxMemHeapDesc_t, typeSpecificDesc);
same_member(cuai_nvtx_heap_desc_t, category, nvtxMemHeapDesc_t, category);
same_member(cuai_nvtx_heap_desc_t, message_type, nvtxMemHeapDesc_t, messageType);
same_member(cuai_nvtx_heap_desc_t, message, nvtxMemHeapDesc_t, message);
same_size(cuai_nvtx_register_t, nvtxMemRegionsRegisterBatch_t);
same_member(cuai_nvtx_register_t, type, nvtxMemRegionsRegisterBatch_t, regionType);
same_member(cuai_nvtx_register_t, heap, nvtxMemRegionsRegisterBatch_t, heap);
same_member(cuai_nvtx_register_t, count, nvtxMemRegionsRegisterBatch_t, regionCount);
same_member(cuai_nvtx_register_t, range_size, nvtxMemRegionsRegisterBatch_t, regionDescElementSize);
same_member(cuai_nvtx_register_t, ranges, nvtxMemRegionsRegisterBatch_t, regionDescElements);
same_member(cuai_nvtx_register_t, handles_out, nvtxMemRegionsRegisterBatch_t,
            regionHandleElementsOut);
same_size(cuai_nvtx_resize_t, nvtxMemRegionsResizeBatch_t);
same_member(cuai_nvtx_resize_t, type, nvtxMemRegionsResizeBatch_t, regionType);
same_member(cuai_nvtx_resize_t, count, nvtxMemRegionsResizeBatch_t, regionDescCount);
same_member(cuai_nvtx_resize_t, range_size, nvtxMemRegionsResizeBatch_t, regionDescElementSize);
same_member(cuai_nvtx_resize_t, ranges, nvtxMemRegionsResizeBatch_t, regionDescElements);
same_size(cuai_nvtx_region_t, nvtxMemRegionRef_t);
same_size(cuai_nvtx_unregister_t, nvtxMemRegionsUnregisterBatch_t);
same_member(cuai_nvtx_unregister_t, by, nvtxMemRegionsUnregisterBatch_t, refType);
same_member(cuai_nvtx_unregister_t, count, nvtxMemRegionsUnregisterBatch_t, refCount);
same_member(cuai_nvtx_unregister_t, region_size, nvtxMemRegionsUnregisterBatch_t, refElementSize);
same_member(cuai_nvtx_unregister_t, regions, nvtxMemRegionsUnregisterBatch_t, refElements);
same_size(cuai_nvtx_region_name_t, nvtxMemRegionNameDesc_t);
same_member(cuai_nvtx_region_name_t, by, nvtxMemRegionNameDesc_t, regionRefType);
same_member(cuai_nvtx_region_name_t, message_type, nvtxMemRegionNameDesc_t, nameType);
same_member(cuai_nvtx_region_name_t, region, nvtxMemRegionNameDesc_t, region);
same_member(cuai_nvtx_region_name_t, name, nvtxMemRegionNameDesc_t, name);
same_size(cuai_nvtx_name_t, nvtxMemRegionsNameBatch_t);
same_member(cuai_nvtx_name_t, count, nvtxMemRegionsNameBatch_t, regionCount);
same_member(cuai_nvtx_name_t, name_size, nvtxMemRegionsNameBatch_t, regionElementSize);
same_member(cuai_nvtx_name_t, names, nvtxMemRegionsNameBatch_t, regionElements);

/* The sizes of the modules are compared when this runs. */
int main(void)
{
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i] != real_sizes[i])
            return 1;
    return 0;
}
