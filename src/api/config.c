/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Configuration: one table of fields serves defaults, environment, checks and rtrcu_config_set().
 *
 * tested by: test/api/config.cc
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

struct field {
    const char *name;
    size_t offset;
    size_t size;              /* 4 or 8 */
    int64_t normal;           /* default */
    int64_t low, high;        /* of a number */
    const char *const *names; /* of a choice, NULL-terminated; its values count from 0 */
};

static const char *const policies[] = {"daemon", "inline", "krcud", "throttle", "unbounded", NULL};
static const char *const drivers[] = {"kthread", "ltimer", "sched", "poll", NULL};
static const char *const pressures[] = {"expedite", "block", "help", NULL};
static const char *const workers[] = {"kthread", "workqueue", NULL};
static const char *const lists[] = {"percpu", "node", NULL};
static const char *const krcud_whens[] = {"rt", "always", NULL};
static const char *const membarriers[] = {"auto", "on", "off", NULL};

#define MEMBER(member) #member, offsetof(struct rtrcu_config, member), sizeof(((struct rtrcu_config *)0)->member)
#define CHOICE(member, names)                                                                                          \
    {                                                                                                                  \
        MEMBER(member), 0, 0, 0, names                                                                                 \
    }
#define NUMBER(member, normal, low, high)                                                                              \
    {                                                                                                                  \
        MEMBER(member), normal, low, high, NULL                                                                        \
    }

static const struct field fields[] = {
    CHOICE(policy, policies),
    CHOICE(driver, drivers),
    CHOICE(backpressure, pressures),
    CHOICE(exp_worker, workers),
    CHOICE(blocked_lists, lists),
    CHOICE(membarrier, membarriers),
    CHOICE(krcud_when, krcud_whens),
    NUMBER(adaptive, 1, 0, 1),
    NUMBER(boost, 1, 0, 1),
    NUMBER(normal, 0, 0, 1),
    NUMBER(expedited, 0, 0, 1),
    NUMBER(kthread_prio, 1, 0, 98),
    NUMBER(krcud_nice, 0, -20, 19),
    NUMBER(krcud_rtprio, 0, 0, 98),
    NUMBER(bhlimit, 256, 0, 1000000000),
    NUMBER(maxbatch, 1000000, 1, 1000000000),
    NUMBER(plugticks, 4, 0, 1000000),
    NUMBER(blimit, CHECK_DEBUG ? 2 : 10, 1, 1000000000),
    NUMBER(qhimark, 10000, 1, 1000000000),
    NUMBER(qlowmark, 100, 0, 1000000000),
    NUMBER(qmax, 65536, 1, 1000000000),
    NUMBER(budget_ns, 50000, 1000, 1000000000),
    NUMBER(tick_us, 1000, 50, 1000000),
    NUMBER(spin_us, 10, 0, 1000),
    NUMBER(boost_delay_us, 500000, 0, 1000000000),
    NUMBER(stall_timeout_ms, 10000, 0, 86400000),
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static int64_t get(const struct rtrcu_config *config, const struct field *field)
{
    const char *at = (const char *)config + field->offset;
    return field->size == sizeof(int32_t) ? *(const int32_t *)at : *(const int64_t *)at;
}

static void set(struct rtrcu_config *config, const struct field *field, int64_t value)
{
    char *at = (char *)config + field->offset;
    if (field->size == sizeof(int32_t))
        *(int32_t *)at = (int32_t)value;
    else
        *(int64_t *)at = value;
}

static int64_t highest(const struct field *field)
{
    int64_t count = 0;
    if (!field->names)
        return field->high;
    while (field->names[count])
        count++;
    return count - 1;
}

/* A value is cut short in the message, so that what is allowed always fits behind it. */
static int refuse(const char *text, const char *value, const struct field *field)
{
    size_t room = sizeof(rtrcu_config_message);
    int at = snprintf(rtrcu_config_message, room, "%s \"%.100s\": allowed are ", text, value);
    if (!field->names) {
        snprintf(rtrcu_config_message + at, room - (size_t)at, "%lld to %lld", (long long)field->low,
                 (long long)field->high);
        return -EINVAL;
    }
    for (int64_t i = 0; field->names[i] && (size_t)at < room; i++)
        at += snprintf(rtrcu_config_message + at, room - (size_t)at, "%s%s", i ? ", " : "", field->names[i]);
    return -EINVAL;
}

static const struct field *find(const char *name)
{
    for (size_t i = 0; i < FIELDS; i++) {
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    }
    return NULL;
}

static int parse(const struct field *field, const char *text, int64_t *value)
{
    char *end;
    for (int64_t i = 0; field->names && field->names[i]; i++) {
        if (strcmp(field->names[i], text) == 0) {
            *value = i;
            return 0;
        }
    }
    if (field->names)
        return refuse(field->name, text, field);
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (errno || end == text || *end || *value < field->low || *value > field->high)
        return refuse(field->name, text, field);
    return 0;
}

int rtrcu_config_set(struct rtrcu_config *config, const char *name, const char *text)
{
    int64_t value;
    const struct field *field = find(name);
    if (!field) {
        snprintf(rtrcu_config_message, sizeof(rtrcu_config_message),
                 "no setting is called \"%.100s\"; see docs/configuration.md", name);
        return -EINVAL;
    }
    int error = parse(field, text, &value);
    if (!error)
        set(config, field, value);
    return error;
}

static void check_environment_name(const char *entry)
{
    char name[40];
    size_t i = 0;
    for (const char *at = entry + strlen("RTRCU_"); *at && *at != '=' && i < sizeof(name) - 1; at++)
        name[i++] = (char)tolower((unsigned char)*at);
    name[i] = '\0';
    if (!find(name))
        plat_print("rtrcu: environment: no setting is called RTRCU_%.*s; ignored\n", (int)strcspn(entry + 6, "="),
                   entry + 6);
}

void api_config_from_environment(struct rtrcu_config *config)
{
    config->size = sizeof(*config);
    for (size_t i = 0; i < FIELDS; i++) {
        char name[48] = "RTRCU_";
        for (size_t at = 0; fields[i].name[at]; at++)
            name[6 + at] = (char)toupper((unsigned char)fields[i].name[at]);
        set(config, &fields[i], fields[i].normal);
        const char *text = getenv(name);
        int64_t value;
        if (!text)
            continue;
        if (parse(&fields[i], text, &value) == 0)
            set(config, &fields[i], value);
        else
            plat_print("rtrcu: environment: %s; the default is used\n", rtrcu_config_message);
    }
    for (char **entry = environ; entry && *entry; entry++) {
        bool of_tests = strncmp(*entry, "RTRCU_TEST_", 11) == 0; /* of whoever tests a program, ourselves too */
        if (strncmp(*entry, "RTRCU_", 6) == 0 && !of_tests)
            check_environment_name(*entry);
    }
    if (api_config_check(config) != 0) {
        plat_print("rtrcu: environment: %s; all defaults are used\n", rtrcu_config_message);
        for (size_t i = 0; i < FIELDS; i++)
            set(config, &fields[i], fields[i].normal);
    }
}

static int refuse_pair(const char *message)
{
    snprintf(rtrcu_config_message, sizeof(rtrcu_config_message), "%s", message);
    return -EINVAL;
}

int api_config_check(const struct rtrcu_config *config)
{
    for (size_t i = 0; i < FIELDS; i++) {
        int64_t value = get(config, &fields[i]);
        char text[24];
        snprintf(text, sizeof(text), "%lld", (long long)value);
        if (value < fields[i].low || value > highest(&fields[i]))
            return refuse(fields[i].name, text, &fields[i]);
    }
    const struct callback_policy *policy = callback_policy_of(config->policy);
    if (!drive_driver_of(config->driver)->body && policy->needs_thread)
        return refuse_pair("driver sched has no thread: it goes with the policies inline, throttle and unbounded");
    if (config->qlowmark > config->qhimark)
        return refuse_pair("qlowmark must not be above qhimark");
    return 0;
}

const char *rtrcu_config_error(void)
{
    return rtrcu_config_message;
}

void rtrcu_config_init(struct rtrcu_config *config)
{
    api_config_from_environment(config);
}
