// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows as JSON and as cells of a table.
#include "report/row.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lab
{
namespace
{

Json value_of(const Fields::Field &field, const Fields &row)
{
    switch (field.kind) {
    case Fields::Kind::text:
        return field.in<std::string>(row);
    case Fields::Kind::texts:
        return field.in<std::vector<std::string>>(row);
    case Fields::Kind::flag: {
        const auto &flag = field.in<std::optional<bool>>(row);
        return flag ? Json(*flag) : Json(nullptr);
    }
    case Fields::Kind::number: {
        const auto &figure = field.in<Figure>(row);
        return figure ? Json(*figure) : Json(nullptr);
    }
    case Fields::Kind::count: {
        const auto &figure = field.in<Figure>(row);
        return figure ? Json(std::llround(*figure)) : Json(nullptr);
    }
    case Fields::Kind::whole: {
        const auto &count = field.in<std::optional<uint64_t>>(row);
        return count ? Json(*count) : Json(nullptr);
    }
    case Fields::Kind::numbers:
        return field.in<std::vector<double>>(row);
    case Fields::Kind::counts:
        return field.in<std::vector<uint64_t>>(row);
    case Fields::Kind::points:
        return field.in<Points>(row);
    }
    return nullptr;
}

bool stands_in(const Fields::Field &field, int table)
{
    return field.column.table == table || field.column.table == every_table;
}

} // namespace

Json to_json(const Fields &row)
{
    Json json = Json::object();
    for (const Fields::Field &field : row.fields())
        if (field.key != nullptr)
            json[field.key] = value_of(field, row);
    return json;
}

void add_columns(Table &table, int which, const Fields &declared)
{
    for (const Fields::Field &field : declared.fields())
        if (stands_in(field, which))
            table.column(field.column.heading,
                         field.kind == Fields::Kind::text ? Table::Align::left : Table::Align::right);
}

std::string cell_of(const Fields::Field &field, const Fields &row)
{
    if (field.kind == Fields::Kind::text)
        return field.in<std::string>(row);
    const bool integer = field.kind == Fields::Kind::whole;
    const Figure figure = integer ? scaled(field.in<std::optional<uint64_t>>(row)) : field.in<Figure>(row);
    if (!figure)
        return "-";
    const double value = *figure * field.column.scale;
    if (field.column.format != nullptr)
        return fmt::format(fmt::runtime(field.column.format), value);
    return integer || field.kind == Fields::Kind::count ? whole(value) : number(value);
}

std::vector<std::string> cells_of(int which, const Fields &row)
{
    std::vector<std::string> cells;
    for (const Fields::Field &field : row.fields())
        if (stands_in(field, which))
            cells.push_back(cell_of(field, row));
    return cells;
}

} // namespace lab
