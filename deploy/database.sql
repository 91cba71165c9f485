-- What compose.yaml makes of a new PostgreSQL: an ordinary role for Posthorn, and its database.
\getenv password POSTGRES_PASSWORD
create role posthorn login password :'password';
create database posthorn owner posthorn encoding 'UTF8' template template0;
-- The superuser comes in from inside the container alone:
--   docker compose exec --user postgres postgres psql
alter role postgres password null;
