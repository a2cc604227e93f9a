// SPDX-License-Identifier: MIT OR Apache-2.0
// The screen of `rtrcu top`, by ncurses: it draws lines, reads keys, and follows the terminal's size.
#include "top/screen.h"

#include <algorithm>
#include <chrono>
#include <clocale>
#include <ctime>
#include <curses.h>
#include <stdexcept>
#include <unistd.h>

#include "command/command.h"
#include "top/report.h"
#include "top/view.h"

namespace lab::top
{
namespace
{

constexpr int key_escape = 27;

// Full-screen mode of the terminal; the destructor restores the terminal's former state.
class Terminal
{
  public:
    Terminal()
    {
        std::setlocale(LC_ALL, "");
        if (isatty(STDOUT_FILENO) == 0 || isatty(STDIN_FILENO) == 0)
            throw std::runtime_error("the full-screen view needs a terminal; --once prints a table, --json and"
                                     " --prometheus are for programs");
        screen_ = newterm(nullptr, stdout, stdin);
        if (screen_ == nullptr)
            throw std::runtime_error("this terminal is not known to the system: set TERM, or use --once");
        cbreak();
        noecho();
        keypad(stdscr, TRUE);
        curs_set(0);
        set_escdelay(25);
    }
    ~Terminal()
    {
        endwin();
        delscreen(screen_);
    }
    Terminal(const Terminal &) = delete;
    Terminal &operator=(const Terminal &) = delete;

  private:
    SCREEN *screen_ = nullptr;
};

class Screen
{
  public:
    Screen(inspect::Processes &processes, double interval, const std::string &sort)
        : processes_(processes),
          interval_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::max(interval, 0.1))))
    {
        for (std::size_t i = 0; i < list_columns().size(); i++)
            if (list_columns()[i].heading == sort)
                sort_ = i;
        reverse_ = sort_ != 0 && list_columns()[sort_].value != nullptr;
    }

    void run()
    {
        Clock::time_point next = Clock::now();
        bool goes_on = true;
        while (goes_on && !interrupted()) {
            if (Clock::now() >= next) {
                if (!paused_)
                    refresh_views();
                next = Clock::now() + interval_;
            }
            draw();
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now()).count();
            timeout(static_cast<int>(std::clamp<int64_t>(left + 1, 1, 60'000)));
            goes_on = handle(getch());
        }
    }

  private:
    using Clock = std::chrono::steady_clock;

    void refresh_views()
    {
        views_ = views(processes_.look(), views_);
        order();
    }

    // Sorts the list again.  The selection stays on its domain.
    void order()
    {
        sort_views(views_, sort_, reverse_);
        for (std::size_t i = 0; i < views_.size(); i++)
            if (key_of(views_[i]) == selected_key_)
                selected_ = i;
        select(selected_);
    }

    static std::string key_of(const View &view)
    {
        return std::to_string(view.pid) + view.object + view.now.name;
    }

    void select(std::size_t index)
    {
        selected_ = views_.empty() ? 0 : std::min(index, views_.size() - 1);
        selected_key_ = views_.empty() ? "" : key_of(views_[selected_]);
    }

    void put(int line, const std::string &text, attr_t attributes = A_NORMAL)
    {
        if (line >= LINES)
            return;
        attrset(attributes);
        mvaddnstr(line, 0, cut(text, static_cast<std::size_t>(COLS)).c_str(), -1);
        if (attributes & A_REVERSE)
            hline(' ' | attributes, COLS);
        attrset(A_NORMAL);
    }

    void draw()
    {
        erase();
        draw_head();
        if (in_depth_ && !views_.empty())
            draw_depth();
        else
            draw_list();
        put(LINES - 1,
            in_depth_ ? " q quit   Enter, Esc back to the list   p pause   up, down scroll"
                      : " q quit   Enter in depth   p pause   s, S sort   r reverse   up, down select",
            A_DIM);
        refresh();
    }

    void draw_head()
    {
        char clock[16];
        const std::time_t now = std::time(nullptr);
        std::tm local{};
        std::strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &local));
        std::size_t count = 0;
        int last = -1;
        for (const View &view : views_)
            count += view.pid != last ? 1 : 0, last = view.pid;
        std::string head =
            fmt::format("rtrcu top  {}  {} {}", clock, views_.size(), views_.size() == 1 ? "domain" : "domains");
        if (processes_.refused() != 0)
            head += fmt::format("  {} more processes may not be read", processes_.refused());
        if (!in_depth_)
            head += fmt::format("  by {}{}", list_columns()[sort_].heading, reverse_ ? ", largest first" : "");
        put(0, head, A_BOLD);
        if (paused_)
            put(1, "paused: press p to continue", A_BOLD);
    }

    void draw_list()
    {
        const auto columns = columns_that_fit(static_cast<std::size_t>(COLS));
        const std::size_t room = static_cast<std::size_t>(std::max(LINES - 4, 1));
        const std::size_t first = selected_ >= room ? selected_ - room + 1 : 0;
        put(2, list_heading(columns), A_REVERSE);
        if (views_.empty())
            put(3, "no process that may be read runs the library");
        for (std::size_t i = first; i < std::min(views_.size(), first + room); i++)
            put(static_cast<int>(3 + i - first), list_line(columns, views_[i]), i == selected_ ? A_STANDOUT : A_NORMAL);
    }

    void draw_depth()
    {
        auto lines = depth_lines(views_[selected_], static_cast<std::size_t>(COLS));
        for (const std::string &line : counter_lines(views_[selected_], static_cast<std::size_t>(COLS)))
            lines.push_back(line);
        const std::size_t room = static_cast<std::size_t>(std::max(LINES - 3, 1));
        scroll_ = std::min(scroll_, lines.size() > room ? lines.size() - room : 0);
        for (std::size_t i = 0; i < room && scroll_ + i < lines.size(); i++)
            put(static_cast<int>(2 + i), lines[scroll_ + i], scroll_ + i == 0 ? A_BOLD : A_NORMAL);
    }

    void sort_by(std::size_t column)
    {
        sort_ = column;
        reverse_ = list_columns()[column].value != nullptr && column != 0;
        order();
    }

    // The s and S keys choose only among the columns that are shown.
    void sort_next(bool forward)
    {
        const auto columns = columns_that_fit(static_cast<std::size_t>(COLS));
        auto at = std::find(columns.begin(), columns.end(), sort_);
        const std::size_t place = at == columns.end() ? 0 : static_cast<std::size_t>(at - columns.begin());
        sort_by(columns.empty() ? 0 : columns[(place + (forward ? 1 : columns.size() - 1)) % columns.size()]);
    }

    void move(bool down)
    {
        if (in_depth_)
            scroll_ = down ? scroll_ + 1 : scroll_ - std::min<std::size_t>(scroll_, 1);
        else
            select(down ? selected_ + 1 : selected_ - std::min<std::size_t>(selected_, 1));
    }

    void go_in_depth(bool deep)
    {
        in_depth_ = deep && !views_.empty();
        scroll_ = 0;
    }

    // Handles a key.  Returns false if the user quits.
    bool handle(int key)
    {
        switch (key) {
        case 'q':
            return false;
        case 'p':
        case ' ':
            paused_ = !paused_;
            break;
        case 's':
        case 'S':
            sort_next(key == 's');
            break;
        case 'r':
            reverse_ = !reverse_;
            order();
            break;
        case KEY_UP:
        case KEY_DOWN:
        case 'k':
        case 'j':
            move(key == KEY_DOWN || key == 'j');
            break;
        case '\n':
        case KEY_ENTER:
            go_in_depth(!in_depth_);
            break;
        case key_escape:
            go_in_depth(false);
            break;
        default: // nothing, or KEY_RESIZE: the next drawing uses the new size
            break;
        }
        return true;
    }

    inspect::Processes &processes_;
    const Clock::duration interval_;
    std::vector<View> views_;
    std::size_t selected_ = 0, sort_ = 0, scroll_ = 0;
    std::string selected_key_;
    bool paused_ = false, in_depth_ = false, reverse_ = false;
};

} // namespace

void run_screen(inspect::Processes &processes, double interval_seconds, const std::string &sort)
{
    Screen screen(processes, interval_seconds, sort);
    Terminal terminal;
    screen.run();
}

} // namespace lab::top
