import { buffer } from 'node:stream/consumers'
import { verify, type WebhookEvent } from '@cardstall/sdk'
import type { Command } from 'commander'
import { openOutput } from '../output.ts'
import { openSession, optionsOf } from '../session.ts'
import { count } from './catalog.ts'
import { each } from './orders.ts'

/** `webhooks`. */
export function webhookCommands(program: Command): void {
  const webhooks = program.command('webhooks').description('manage webhook endpoints')
  webhooks
    .command('list')
    .description('list your endpoints')
    .action(async (_options, command: Command) => {
      const { client, out } = await openSession(command)
      out.records(await client.webhooks.list(), [
        ['ID', ({ id }) => id],
        ['URL', ({ url }) => url],
        ['EVENTS', ({ events }) => events.join(' ')],
      ])
    })
  webhooks
    .command('create')
    .argument('<url>', 'https address of the receiver')
    .argument('<events...>', 'events to send')
    .description('add an endpoint; its secret is shown once')
    .action(async (url: string, events: WebhookEvent['event'][], _options, command: Command) => {
      const { client, out } = await openSession(command)
      const { endpoint, secret } = await client.webhooks.create({ url, events })
      out.record({ ...endpoint, secret }, [
        ['ID', endpoint.id],
        ['Secret', secret],
      ])
      out.note('Store the secret now: it is not shown again.')
    })
  webhooks
    .command('delete')
    .argument('<ids...>', 'ids of endpoints')
    .description('delete endpoints')
    .action(async (ids: string[], _options, command: Command) => {
      const session = await openSession(command)
      await each(session, ids.map(count), async (id) => {
        await session.client.webhooks.delete(id)
        session.out.note(`Deleted ${id}.`)
      })
    })
  webhooks
    .command('verify')
    .description('check the signature of a delivery whose body is on stdin')
    .requiredOption('--secret <secret>', 'secret of the endpoint')
    .requiredOption('--timestamp <seconds>', 'header X-Service-Timestamp')
    .requiredOption('--signature <hash>', 'header X-Service-Signature')
    .action(
      async (
        { secret, timestamp, signature }: { secret: string; timestamp: string; signature: string },
        command: Command,
      ) => {
        const body = await buffer(process.stdin)
        const headers = { 'x-service-timestamp': timestamp, 'x-service-signature': signature }
        // An old delivery that somebody examines by hand is genuine all the same.
        const event = await verify(body, headers, secret, { toleranceSeconds: Infinity })
        openOutput(optionsOf(command)).record(event, [
          ['Genuine', 'yes'],
          ['Event', event.event],
        ])
      },
    )
}
