/**
 * The command line: every command as data, from which help, checks, docs and dispatch are made.
 * Commands ask the rooms to do the work; they decide nothing and hold no state.
 */
export type { Installation, MigrationsWish, Program, Settings } from "./command.ts";
export { commands } from "./commands.ts";
export { runCli } from "./run-cli.ts";
