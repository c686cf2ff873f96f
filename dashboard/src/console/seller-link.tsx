import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { Paginated } from '../api.ts'
import { get } from '../client.ts'
import type { Column } from '../ui/table.tsx'
import { type Account, useMay } from './api.ts'

/** A seller in a list: the shop's name, linked to its page, above the account's number. */
export function SellerLink({ id }: { id: number }) {
  const name = useShopName(id)
  if (!useMay()('getAccount')) return id
  return (
    <div className="seller">
      <Link href={`/sellers/${id}`}>{name ?? `Seller ${id}`}</Link>
      {name && <p className="help">{id}</p>}
    </div>
  )
}

/** The column of the seller in a list of records of all sellers. */
export const SELLER: Column<{ account_id: number }> = {
  key: 'seller',
  header: 'Seller',
  cell: ({ account_id }) => <SellerLink id={account_id} />,
}

/** A seller in a sentence: Kanto Cards (12). */
export function SellerName({ id }: { id: number }) {
  const name = useShopName(id)
  return name ? `${name} (${id})` : `seller ${id}`
}

/** An account of the ledger. The account of a seller has a name like `seller:12`. */
export function LedgerAccount({ account }: { account: string }) {
  const [kind, id] = account.split(':')
  return kind === 'seller' ? <SellerLink id={Number(id)} /> : account
}

/** The name of a shop, once it is read. A role that may not read accounts sees their numbers. */
const useShopName = (id: number): string | undefined =>
  useQuery({
    queryKey: ['shop-name', id],
    queryFn: async () => (await readTogether(id)).get(id) ?? null,
    enabled: useMay()('listAccounts'),
    staleTime: 60_000,
  }).data ?? undefined

/** The shops that the rows of one list ask for at the same time, which one request reads. */
let asked: { ids: Set<number>; names: Promise<Map<number, string>> } | undefined

function readTogether(id: number): Promise<Map<number, string>> {
  if (!asked) {
    const ids = new Set<number>()
    const names = new Promise<void>((resolve) => setTimeout(resolve)).then(() => {
      asked = undefined
      return readNames([...ids])
    })
    asked = { ids, names }
  }
  asked.ids.add(id)
  return asked.names
}

async function readNames(ids: number[]): Promise<Map<number, string>> {
  const { data } = await get<Paginated<Account>>('accounts', {
    query: { ids: ids.join(), per_page: 100 },
  })
  return new Map(data.map((account) => [account.id, account.shop_name]))
}
