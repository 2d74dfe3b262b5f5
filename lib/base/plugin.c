/* plugin.c: a symbol of a shared object that is loaded when it is needed. */
/* SPDX-License-Identifier: MIT */
#include "sg_plugin.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

bool sg_plugin_is_whole(const char *bytes, size_t length) {
    ElfW(Ehdr) header;
    ElfW(Phdr) part;
    if (length < sizeof header || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return true;
    memcpy(&header, bytes, sizeof header);
    if (header.e_phentsize != sizeof part)
        return true;
    if (header.e_phoff > length || header.e_phnum > (length - header.e_phoff) / sizeof part)
        return false;
    for (size_t i = 0; i < header.e_phnum; i++) {
        memcpy(&part, bytes + header.e_phoff + i * sizeof part, sizeof part);
        if (part.p_type == PT_LOAD && (part.p_offset > length || part.p_filesz > length - part.p_offset))
            return false;
    }
    return true;
}

sg_status sg_plugin_file_symbol(void **out, const char *path, const char *symbol, struct sg_error *err) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "%s", dlerror());
    *out = dlsym(handle, symbol);
    return *out ? SG_OK : sg_fail(err, SG_ERR_MISMATCH, "%s", dlerror());
}
