-- Reading the audit log: by who did something, and by what was done.

-- In page order, so that a page of an actor or action with few entries reads no more than it shows.
create index audit_log_of_actor on audit_log (actor, audit_id);
create index audit_log_of_action on audit_log (action, audit_id);
