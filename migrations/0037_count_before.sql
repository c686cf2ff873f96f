-- The number of rows in the blocks of 2^8 keys before this one, for lists that begin at a time (docs/counts.md). Null for
-- a seller with few rows, which are counted from their index. `wanted` and the rest as in page_of_counts.
create function count_before(of_subject text, seller bigint, wanted integer[], key_block bigint)
returns bigint language plpgsql stable as $$
declare
  last_seller bigint := case seller when 0 then 9223372036854775807 else seller end;
begin
  if not exists (
    select from counts where subject = of_subject and account_id = seller and level = 0
  ) then
    return null;
  end if;
  return (
    select
      coalesce(
        sum(
          n1 * wanted[1] + n2 * wanted[2] + n3 * wanted[3] + n4 * wanted[4]
          + n5 * coalesce(wanted[5], 0)
        ),
        0
      )
    from (
      select n1, n2, n3, n4, n5
      from counts
      where
        subject = of_subject and account_id = seller and level = 2 and block < key_block >> 12
      union all
      select n1, n2, n3, n4, n5
      from counts
      where
        subject = of_subject
        and account_id = seller
        and level = 1
        and block >= key_block >> 12 << 6
        and block < key_block >> 6
      union all
      select n1, n2, n3, n4, n5
      from counts
      where
        subject = of_subject
        and account_id = seller
        and level = 0
        and block >= key_block >> 6 << 6
        and block < key_block
      union all
      select n1, n2, n3, n4, n5
      from count_deltas
      where
        subject = of_subject
        and account_id between seller and last_seller
        and block < key_block
    ) counted
  );
end
$$;
