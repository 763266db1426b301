-- SPDX-License-Identifier: MIT
-- What a database does: rows, indexes, sorts on disk, joins by several workers, JSON, functions, errors.
set client_min_messages = warning;
create table rows as select i as id, i * 7919 % 9973 as number, md5(i::text) as text from generate_series(1, 60000) i;
create index by_number on rows(number);
create unique index by_text on rows(text, id);
create index by_trigger on rows using gin (to_tsvector('simple', text));
vacuum analyze rows;
select count(*), sum(number), min(text), max(text) from rows;
select number, count(*) from rows group by number having count(*) > 6 order by number limit 10;
set work_mem = '64kB';
select md5(string_agg(text, '' order by text desc)) from rows;
reset work_mem;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
select count(*), sum(a.number) from rows a join rows b on a.number = b.id where b.text like '%7%';
select jsonb_object_agg(id, text) -> '77' from rows where id < 500;
create function factorial(n numeric) returns numeric language plpgsql as
	$$ begin if n < 2 then return 1; end if; return n * factorial(n - 1); end $$;
select factorial(120);
select 1 / 0;
begin;
update rows set text = upper(text) where id % 3 = 0;
rollback;
delete from rows where id % 2 = 0;
select count(*), md5(string_agg(text, ',' order by id)) from rows;
copy (select * from rows where id < 9 order by id) to stdout;
