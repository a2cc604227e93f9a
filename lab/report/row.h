// SPDX-License-Identifier: MIT OR Apache-2.0
// A row of results. Each figure is declared once, as a member with its JSON key and its place in a table.
//
//   struct Row : Fields {
//       Text policy{*this, "policy", {0, "policy"}};
//       Number p99_us{*this, "p99_us", {0, "p99"}};
//   };
//
// Keys and columns have the order of declaration.  The curves of a page are rows too.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "measure/figure.h"
#include "report/table.h"

namespace lab
{

using Json = nlohmann::ordered_json;

// The table in which a figure is shown in the terminal, if any.
constexpr int no_table = -1, every_table = -2;
struct Column {
    int table = no_table;
    const char *heading = nullptr;
    const char *format = nullptr; // a format of fmt; nullptr: number() is used, or whole() for a count
    double scale = 1;             // used in the table only
};

class Fields
{
  public:
    enum class Kind { text, texts, flag, number, count, whole, numbers, counts, points };
    struct Field {
        const char *key; // nullptr: shown in tables only
        Column column;
        Kind kind;
        std::ptrdiff_t at; // offset in the row
        template <class T> const T &in(const Fields &row) const
        {
            return *reinterpret_cast<const T *>(reinterpret_cast<const char *>(&row) + at);
        }
    };
    void declare(const void *value, Kind kind, const char *key, const Column &column)
    {
        fields_.push_back({key, column, kind, static_cast<const char *>(value) - reinterpret_cast<const char *>(this)});
    }
    const std::vector<Field> &fields() const
    {
        return fields_;
    }

  private:
    std::vector<Field> fields_;
};

// A member of a row.  Its constructor registers the member with the row.
template <class Value, Fields::Kind kind> struct Declared : Value {
    Declared(Fields &row, const char *key, const Column &column = {})
    {
        row.declare(static_cast<const Value *>(this), kind, key, column);
    }
    using Value::operator=;
};
using Points = std::vector<std::pair<double, double>>;
using Text = Declared<std::string, Fields::Kind::text>;
using Texts = Declared<std::vector<std::string>, Fields::Kind::texts>;
using Flag = Declared<std::optional<bool>, Fields::Kind::flag>;
using Number = Declared<Figure, Fields::Kind::number>;
using Count = Declared<Figure, Fields::Kind::count>; // a whole number, exact up to 2^53
using Whole = Declared<std::optional<uint64_t>, Fields::Kind::whole>;
using Numbers = Declared<std::vector<double>, Fields::Kind::numbers>;
using Counts = Declared<std::vector<uint64_t>, Fields::Kind::counts>;
using Curve = Declared<Points, Fields::Kind::points>;

// Returns a flat object, unless the row has lists.  Unknown figures are null.
Json to_json(const Fields &row);
// The headings of a table's columns, and the cells of a row.
void add_columns(Table &table, int which, const Fields &declared);
std::vector<std::string> cells_of(int which, const Fields &row);
std::string cell_of(const Fields::Field &field, const Fields &row);

// Returns the rows as a table, with a line between groups.
template <class R>
std::string table_text(int which, const std::vector<R> &rows, std::string (*group)(const R &) = nullptr)
{
    Table table;
    add_columns(table, which, R());
    for (const R &row : rows) {
        if (group != nullptr)
            table.group(group(row));
        table.row(cells_of(which, row));
    }
    return table.text();
}

} // namespace lab
