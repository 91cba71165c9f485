import { secretBox } from "#platform";

/** The key with which the tests' services seal secrets. */
export const TEST_KEY = Buffer.alloc(32, 7);
export const TEST_SECRETS = secretBox(TEST_KEY);
