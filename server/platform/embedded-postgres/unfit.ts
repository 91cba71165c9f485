/**
 * The environment does not allow a start: the disk, the folder, the port, the database or a
 * setting. The message says what to do, and is shown without a stack.
 */
export class Unfit extends Error {
  override name = "Unfit";
}
