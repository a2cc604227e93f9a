/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of settings, used for defaults, environment, checks and rtrcu_config_set().
 *
 * tested by: test/api/config.cc
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

struct field {
    const char *name;
    size_t offset;
    size_t size;              /* in bytes: 4 or 8; more for a text, whose default is "" */
    int64_t normal;           /* default */
    int64_t low, high;        /* lowest and highest number allowed */
    const char *const *names; /* values of a choice, NULL-terminated, counted from 0.  For a text: the name of "", and a
                                 description of other values */
    const char *word;         /* for a number: the text that sets it to -1, which is below @low; or NULL */
};

static const char *const policies[] = {"daemon", "inline", "krcud", "throttle", "unbounded", NULL};
static const char *const drivers[] = {"kthread", "ltimer", "sched", "poll", NULL};
static const char *const pressures[] = {"expedite", "block", "help", NULL};
static const char *const workers[] = {"kthread", "workqueue", "kthread-only", NULL};
static const char *const lists[] = {"percpu", "node", NULL};
static const char *const krcud_whens[] = {"rt", "always", NULL};
static const char *const membarriers[] = {"auto", "on", "off", NULL};
static const char *const cpu_lists[] = {"process", "CPUs of this machine such as 0-3,7", NULL};

/* The default of stack_kb.  The Rust crate's copy uses the stack size of Rust's own threads, since drops nest as deep
 * as the values that they drop. */
#ifndef RTRCU_STACK_KB
#define RTRCU_STACK_KB 256
#endif

#define MEMBER(member) #member, offsetof(struct rtrcu_config, member), sizeof(((struct rtrcu_config *)0)->member)
#define CHOICE(member, names)                                                                                          \
    {                                                                                                                  \
        MEMBER(member), 0, 0, 0, names, NULL                                                                           \
    }
#define NUMBER(member, normal, low, high)                                                                              \
    {                                                                                                                  \
        MEMBER(member), normal, low, high, NULL, NULL                                                                  \
    }

/* A field that is a number or "auto", its default. */
#define AUTO(member, low, high)                                                                                        \
    {                                                                                                                  \
        MEMBER(member), RTRCU_RTPRIO_AUTO, low, high, NULL, "auto"                                                     \
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
    AUTO(krcud_rtprio, 0, 98),
    AUTO(gp_rtprio, 0, 98),
    NUMBER(rt_share, 25, 1, 100),
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
    NUMBER(idle_scans, CHECK_DEBUG ? 1 : 8, 0, 1000000000),
    NUMBER(boost_delay_us, 500000, 0, 1000000000),
    NUMBER(stall_timeout_ms, 10000, 0, 86400000),
    NUMBER(fork_wait_us, 100000, 0, 60000000),
    NUMBER(stack_kb, RTRCU_STACK_KB, 256, 1048576),
    NUMBER(qmax_process, 0, 0, 1000000000000),
    CHOICE(cpus, cpu_lists),
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static bool is_text(const struct field *field)
{
    return field->size > sizeof(int64_t);
}

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

/* Write into @why that @value is refused, and the values that are allowed.  @value is truncated, so that the allowed
 * values always fit. */
static int refuse(struct config_message *why, const char *value, const struct field *field)
{
    size_t room = sizeof(why->text);
    int at = snprintf(why->text, room, "%s \"%.100s\": allowed are ", field->name, value);

    if (!field->names) {
        snprintf(why->text + at, room - (size_t)at, "%s%s%lld to %lld", field->word ? field->word : "",
                 field->word ? ", " : "", (long long)field->low, (long long)field->high);
        return -EINVAL;
    }

    for (int64_t i = 0; field->names[i] && (size_t)at < room; i++)
        at += snprintf(why->text + at, room - (size_t)at, "%s%s", i ? ", " : "", field->names[i]);
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

static int parse(const struct field *field, const char *text, int64_t *value, struct config_message *why)
{
    char *end;

    for (int64_t i = 0; field->names && field->names[i]; i++) {
        if (strcmp(field->names[i], text) == 0) {
            *value = i;
            return 0;
        }
    }

    if (field->names)
        return refuse(why, text, field);

    if (field->word && strcmp(field->word, text) == 0) {
        *value = RTRCU_RTPRIO_AUTO;
        return 0;
    }

    int saved = errno;
    errno = 0;
    *value = strtoll(text, &end, 10);
    bool bad = errno || end == text || *end || *value < field->low || *value > field->high;
    errno = saved;
    return bad ? refuse(why, text, field) : 0;
}

static bool is_list_of_cpus(const char *text)
{
    struct plat_cpus cpus;
    return plat_cpus_parse(text, &cpus) == 0 && plat_cpus_exist(&cpus);
}

static int take_text(struct rtrcu_config *config, const struct field *field, const char *text,
                     struct config_message *why)
{
    char *at = (char *)config + field->offset;
    bool normal = strcmp(text, field->names[0]) == 0;

    if (!normal && (strlen(text) >= field->size || !is_list_of_cpus(text)))
        return refuse(why, text, field);

    memset(at, 0, field->size);
    if (!normal)
        memcpy(at, text, strlen(text));
    return 0;
}

static int take(struct rtrcu_config *config, const struct field *field, const char *text, struct config_message *why)
{
    int64_t value = 0;
    if (is_text(field))
        return take_text(config, field, text, why);

    int error = parse(field, text, &value, why);
    if (!error)
        set(config, field, value);
    return error;
}

int config_set(struct rtrcu_config *config, const char *name, const char *text, struct config_message *why)
{
    const struct field *field = find(name);

    if (!field) {
        snprintf(why->text, sizeof(why->text), "no setting is called \"%.100s\"; see docs/configuration.md", name);
        return -EINVAL;
    }

    if (field->offset + field->size > config->size) {
        snprintf(why->text, sizeof(why->text), "%s is no field of a struct of %u bytes: call rtrcu_config_init() first",
                 name, config->size);
        return -EINVAL;
    }

    return take(config, field, text, why);
}

/* The lower case of an ASCII letter, in every locale. */
static char lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

/* The value, if @entry is "RTRCU_<NAME>=value" of @name; or NULL. */
static const char *value_of(const char *entry, const char *name)
{
    const char *at = entry + strlen("RTRCU_");

    if (strncmp(entry, "RTRCU_", strlen("RTRCU_")) != 0)
        return NULL;

    for (; *name && lower(*at) == *name && (*at < 'a' || *at > 'z'); at++, name++)
        ;
    return *name == '\0' && *at == '=' ? at + 1 : NULL;
}

static void take_entry(struct rtrcu_config *config, const char *entry)
{
    struct config_message why;
    bool of_tests = strncmp(entry, "RTRCU_TEST_", 11) == 0; /* variables of tests */
    if (strncmp(entry, "RTRCU_", 6) != 0 || of_tests)
        return;

    for (size_t i = 0; i < FIELDS; i++) {
        const char *text = value_of(entry, fields[i].name);
        if (!text)
            continue;

        if (take(config, &fields[i], text, &why) != 0)
            plat_print("rtrcu: environment: %s; the default is used\n", why.text);
        return;
    }

    plat_print("rtrcu: environment: no setting is called %.*s; ignored\n", (int)strcspn(entry, "="), entry);
}

static void set_defaults(struct rtrcu_config *config)
{
    memset(config, 0, sizeof(*config));
    config->size = sizeof(*config);
    for (size_t i = 0; i < FIELDS; i++) {
        if (!is_text(&fields[i]))
            set(config, &fields[i], fields[i].normal);
    }
}

void config_from_environment(struct rtrcu_config *config)
{
    struct config_message why;
    set_defaults(config);
    for (char **entry = plat_environment(); entry && *entry; entry++)
        take_entry(config, *entry);

    if (config_check(config, &why) != 0) {
        plat_print("rtrcu: environment: %s; all defaults are used\n", why.text);
        set_defaults(config);
    }
}

static int refuse_pair(struct config_message *why, const char *message)
{
    snprintf(why->text, sizeof(why->text), "%s", message);
    return -EINVAL;
}

static int check_field(const struct rtrcu_config *config, const struct field *field, struct config_message *why)
{
    char text[24];
    if (is_text(field)) {
        const char *at = (const char *)config + field->offset;
        bool ends = memchr(at, '\0', field->size) != NULL;
        return ends && (!at[0] || is_list_of_cpus(at)) ? 0 : refuse(why, ends ? at : "(without an end)", field);
    }

    int64_t value = get(config, field);
    if (field->word && value == RTRCU_RTPRIO_AUTO)
        return 0;
    snprintf(text, sizeof(text), "%lld", (long long)value);
    return value < field->low || value > highest(field) ? refuse(why, text, field) : 0;
}

int config_check(const struct rtrcu_config *config, struct config_message *why)
{
    for (size_t i = 0; i < FIELDS; i++) {
        int error = check_field(config, &fields[i], why);
        if (error)
            return error;
    }

    bool needs_thread = config->policy == RTRCU_POLICY_DAEMON || config->policy == RTRCU_POLICY_KRCUD;
    if (config->driver == RTRCU_DRIVER_SCHED && needs_thread)
        return refuse_pair(why, "driver sched has no thread: set policy to inline, throttle or unbounded");

    if (config->qlowmark > config->qhimark)
        return refuse_pair(why, "qlowmark must not be above qhimark");
    bool both_set = config->qmax_process && config->qmax != find("qmax")->normal;
    if (both_set && config->qmax_process < config->qmax)
        return refuse_pair(why, "qmax must not be above qmax_process");
    return 0;
}
