import { secretBox } from "#platform";

/** What the services of tests seal with. */
export const TEST_KEY = Buffer.alloc(32, 7);
export const TEST_SECRETS = secretBox(TEST_KEY);
