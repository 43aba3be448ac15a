#include "options.h"

#include "call.h"
#include "fault.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX "CUARENA_STANDIN_"

sd_options_t sd_options = {
    .device_count = 1,
    .peers = true,
    .memory_bytes = UINT64_C(144) << 30,
    .version = 13000,
    .capability = 90,
    .patience = 30,
};
random_state_t sd_random;

static const unsigned paces[] = {0, 16, 128, 256};

/* The seed chooses the pace too: programs must stand lazy and eager drivers. */
static bool set_seed(const char *value)
{
    sd_options.seed = strtoull(value, NULL, 0);
    sd_random.state = sd_options.seed * 2 + 1;
    sd_options.pace = paces[random_next(&sd_random) % 4];
    return true;
}

static bool set_number(const char *value, long low, long high, long *number)
{
    char *end;
    *number = strtol(value, &end, 0);
    return end != value && *end == '\0' && *number >= low && *number <= high;
}

static bool set_pace(const char *value)
{
    long pace;
    if (!set_number(value, 0, 256, &pace))
        return false;
    sd_options.pace = (unsigned)pace;
    return true;
}

static bool set_int(const char *value, long low, long high, int *option)
{
    long number;
    if (!set_number(value, low, high, &number))
        return false;
    *option = (int)number;
    return true;
}

static bool set_flag(const char *value, bool *option)
{
    long number;
    if (!set_number(value, 0, 1, &number))
        return false;
    *option = number != 0;
    return true;
}

static bool set_memory(const char *value)
{
    char *end;
    uint64_t bytes = strtoull(value, &end, 0);
    const char *units = "KMG";
    const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
    if (end == value || (*end != '\0' && (unit == NULL || end[1] != '\0')))
        return false;
    sd_options.memory_bytes = bytes << (unit != NULL ? 10 * (unit - units + 1) : 0);
    return true;
}

static bool set_lack(const char *value)
{
    if (strlen(value) >= sizeof(sd_options.lack))
        return false;
    strcpy(sd_options.lack, value);
    return true;
}

bool sd_options_set(const char *key, const char *value)
{
    sd_options_t *o = &sd_options;
    if (strcmp(key, "SEED") == 0)
        return set_seed(value);
    if (strcmp(key, "PACE") == 0)
        return set_pace(value);
    if (strcmp(key, "DEVICES") == 0)
        return set_int(value, 0, SD_DEVICES_MAX, &o->device_count);
    if (strcmp(key, "PEERS") == 0)
        return set_flag(value, &o->peers);
    if (strcmp(key, "MEMORY") == 0)
        return set_memory(value);
    if (strcmp(key, "VERSION") == 0)
        return set_int(value, 1000, 99990, &o->version);
    if (strcmp(key, "CAPABILITY") == 0)
        return set_int(value, 10, 199, &o->capability);
    if (strcmp(key, "PATIENCE") == 0)
        return set_int(value, 1, 3600, &o->patience);
    if (strcmp(key, "SWALLOW") == 0)
        return set_int(value, 0, 1000000, &o->swallow);
    if (strcmp(key, "LACK") == 0)
        return set_lack(value);
    if (strcmp(key, "FAIL") == 0)
        return sd_fault_parse(value);
    if (strcmp(key, "DELAY") == 0)
        return sd_delay_parse(value);
    if (strcmp(key, "STRICT") == 0)
        return set_flag(value, &o->strict);
    if (strcmp(key, "LEAKS") == 0)
        return set_flag(value, &o->leaks);
    if (strcmp(key, "QUIET") == 0)
        return set_flag(value, &o->quiet);
    return false;
}

static void read_one(const char *key)
{
    char name[64] = PREFIX;
    strcat(name, key);
    const char *value = getenv(name);
    if (value != NULL && !sd_options_set(key, value))
        sd_die("%s=%s makes no sense", name, value);
}

void sd_options_read(void)
{
    static bool done;
    static const char *const keys[] = {"DEVICES", "PEERS",      "MEMORY",   "VERSION", "LACK",
                                       "FAIL",    "DELAY",      "STRICT",   "LEAKS",   "QUIET",
                                       "PACE",    "CAPABILITY", "PATIENCE", "SWALLOW"};
    if (done)
        return;
    done = true;
    set_seed("1");
    read_one("SEED");
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        read_one(keys[i]);
}

bool sd_list_next(const char **list, char *item, size_t room)
{
    size_t length = strcspn(*list, ",");
    if (**list == '\0')
        return false;
    size_t kept = length < room ? length : room - 1;
    memcpy(item, *list, kept);
    item[kept] = '\0';
    *list += length + ((*list)[length] == ',');
    return true;
}

bool sd_lacks(const char *name)
{
    char item[64];
    for (const char *list = sd_options.lack; sd_list_next(&list, item, sizeof(item));) {
        if (strcmp(item, name) == 0)
            return true;
    }
    return false;
}
