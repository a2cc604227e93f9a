// SPDX-License-Identifier: MIT OR Apache-2.0
// A program with two commands.
void add(App &application, Options &options)
{
    add_command(application, "look", "looks");
    add_experiment<Measure>(
        application, "measure", "measures");
    options.flag("--quick", quick, "a short run");
    options.text("--scenario", scenario, "a scenario");
    print("the table of "
          "all figures", key_of_a_row);
}
