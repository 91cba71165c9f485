import { sql } from "#platform";

/**
 * Piece of a statement: the id from which on no message may be missing; null if none is kept.
 * Retention drops whole months, oldest first, so every message of a month that still has its
 * partition is kept. The oldest message counts too: it may be in the partition for other months.
 */
export const messagesKeptSince = sql`
  (select least(
     (select message_id from messages order by message_id limit 1),
     (select id_floor(min(to_date(right(c.relname, 7), 'YYYY_MM'))::timestamp at time zone 'UTC')
        from pg_inherits i
        join pg_class c on c.oid = i.inhrelid
       where i.inhparent = 'messages'::regclass and c.relname ~ '_\\d{4}_\\d\\d$')))`;
