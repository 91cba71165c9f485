/** Each is a host of its own to the service, which keeps to a limit per host; one process answers all. */
export const RECEIVER_HOSTS = ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"];
