/**
 * The command line: every command as data, from which help, checks, docs and dispatch are made.
 * Commands ask the rooms to do the work; they decide nothing and hold no state.
 */
export type { AnyCommand, Installation, MigrationsMode, Program } from "./command.ts";
export { loadCommands } from "./commands.ts";
export { describeInput, usage } from "./help.ts";
export { EXIT, runCli } from "./run-cli.ts";
