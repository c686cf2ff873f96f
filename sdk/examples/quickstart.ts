import { Cardstall } from '@cardstall/sdk'

const cardstall = new Cardstall({ key: 'svc_live_…', baseUrl: 'https://cards.example/v1' })

const { results } = await cardstall.listings.create([
  { card: 'brs_TG12', condition: 'NM', language: 'EN', price: 4.5, quantity: 2 },
])
console.log(results)
for await (const order of cardstall.orders.list({ status: 'pending' })) {
  console.log(order.item.name, order.buyer.name)
}
