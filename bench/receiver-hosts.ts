/** The service limits each host separately, so one process answers as several hosts. */
export const RECEIVER_HOSTS = ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"];
