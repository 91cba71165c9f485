-- Carriers, and which of them serves a number at what price.
create table carriers (
  carrier_id uuid        primary key,
  name       text        not null,
  kind       text        not null,
  settings   jsonb       not null default '{}',
  -- The bind password, sealed; null for the simulator.
  password   bytea,
  paused     boolean     not null default false,
  -- A removed carrier is kept for the history of its messages.
  removed_at timestamptz,
  version    integer     not null default 1,
  created_at timestamptz not null,

  constraint carrier_kind_is_known check (kind in ('simulator', 'smpp')),
  constraint carrier_name_has_1_to_60_characters check (char_length(name) between 1 and 60)
);
create unique index carrier_name_is_unique on carriers (name) where removed_at is null;

create table routes (
  prefix      text   primary key,
  -- In order of preference.
  carrier_ids uuid[] not null,

  constraint route_prefix_is_digits check (prefix ~ '^[0-9]{0,15}$'),
  constraint route_has_a_carrier check (cardinality(carrier_ids) > 0)
);

create table prices (
  prefix  text   primary key,
  credits bigint not null,

  constraint price_prefix_is_digits check (prefix ~ '^[0-9]{0,15}$'),
  constraint price_is_0_to_a_million check (credits between 0 and 1000000)
);

-- Counts changes of the three tables above. If a node priced a message by an older count, the statement that accepts it
-- says so, and the node prices again: a change applies from the next request.
create table routing_version (
  only_row boolean primary key default true check (only_row),
  version  bigint  not null
);
insert into routing_version (version) values (1);

create function count_routing_change() returns trigger language plpgsql as $$
begin
  update routing_version set version = version + 1;
  return null;
end $$;

create trigger carriers_change_routing after insert or update or delete on carriers
  for each statement execute function count_routing_change();
create trigger routes_change_routing after insert or update or delete on routes
  for each statement execute function count_routing_change();
create trigger prices_change_routing after insert or update or delete on prices
  for each statement execute function count_routing_change();

insert into carriers (carrier_id, name, kind, created_at)
values ('01900000-0000-7000-8000-000000000001', 'simulator', 'simulator', now());
insert into routes (prefix, carrier_ids) values ('', array['01900000-0000-7000-8000-000000000001']::uuid[]);
