import { buffer } from 'node:stream/consumers'
import { type Delivery, verify, type WebhookEndpoint, type WebhookEvent } from '@cardstall/sdk'
import { Argument, type Command, Option } from 'commander'
import { eachNoted } from '../each.ts'
import { printList } from '../lists.ts'
import { count, counts } from '../numbers.ts'
import { type Column, type Output, openOutput } from '../output.ts'
import { CommandError, EXIT, openSession, optionsOf, unrepeatable } from '../session.ts'
import { EVENTS } from '../webhook-events.ts'
import { listenCommand } from './listen.ts'

const deliveryColumns: Column<Delivery>[] = [
  ['ID', ({ id }) => id],
  ['EVENT', ({ event }) => event],
  ['STATUS', ({ status }) => status],
  ['ENDPOINT', ({ endpoint_id }) => endpoint_id],
  ['ATTEMPTS', ({ attempts }) => attempts.length],
  ['LAST ERROR', ({ attempts }) => attempts.at(-1)?.error],
  ['TIME', ({ created_at }) => created_at],
]

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
    .addArgument(new Argument('<events...>', 'events to send').choices(EVENTS))
    .description('add an endpoint; its secret is shown once')
    .action(async (url: string, events: WebhookEvent['event'][], _options, command: Command) => {
      const { client, out } = await openSession(command)
      showSecret(out, await unrepeatable(client.webhooks.create({ url, events })))
    })
  webhooks
    .command('delete')
    .argument('<ids...>', 'ids of endpoints', counts)
    .description('delete endpoints')
    .action(async (ids: number[], _options, command: Command) => {
      const session = await openSession(command)
      await eachNoted(session, ids, {
        handle: (id) => session.client.webhooks.delete(id),
        text: (id) => `Deleted ${id}.`,
      })
    })
  webhooks
    .command('rotate-secret')
    .argument('<id>', 'id of the endpoint', count)
    .description('give an endpoint a new secret; the former one signs as well for 24 hours')
    .action(async (id: number, _options, command: Command) => {
      const { client, out } = await openSession(command)
      showSecret(out, await client.tools.webhooks.rotateSecret(id))
    })
  webhooks
    .command('test')
    .argument('<id>', 'id of the endpoint', count)
    .addArgument(new Argument('<event>').choices(EVENTS))
    .description('send a test event to one endpoint')
    .action(async (id: number, event: WebhookEvent['event'], _options, command: Command) => {
      const { client, out } = await openSession(command)
      out.records([await client.tools.webhooks.test(id, event)], deliveryColumns)
    })
  listenCommand(webhooks)
  webhooks
    .command('trigger')
    .addArgument(new Argument('<event>').choices(EVENTS))
    .description('send a sample event to your endpoints, in the sandbox')
    .action(async (event: WebhookEvent['event'], _options, command: Command) => {
      const { client, out } = await openSession(command)
      const sent = await client.tools.events.send(event)
      out.record(sent, [
        ['Event', sent.event],
        ['Endpoints', sent.deliveries],
      ])
    })
  webhooks
    .command('deliveries')
    .description('list deliveries, newest first')
    .option('--failed', 'only those whose attempts all failed')
    .addOption(new Option('--event <event>', 'only this event').choices(EVENTS))
    .option('--endpoint <id>', 'only to this endpoint', count)
    .option('--from <time>', 'only events at or after this time')
    .option('--to <time>', 'only events at or before this time; a date means its first second')
    .option(
      '--limit <n>',
      'number of rows, at most 10,000; for older ones use --to with the last TIME plus 10 seconds (some rows appear again)',
      count,
      30,
    )
    .action(
      async (
        {
          failed,
          event,
          endpoint,
          limit,
          ...period
        }: {
          failed?: boolean
          event?: WebhookEvent['event']
          endpoint?: number
          from?: string
          to?: string
          limit: number
        },
        command: Command,
      ) => {
        const { client, out } = await openSession(command)
        const deliveries = client.tools.deliveries.list({
          ...(failed && { status: 'failed' }),
          ...(event && { event }),
          ...(endpoint && { endpoint_id: endpoint }),
          ...period,
        })
        await printList(out, deliveries, { limit, columns: deliveryColumns, name: 'deliveries' })
      },
    )
  webhooks
    .command('resend')
    .argument('[deliveries...]', 'ids of deliveries', counts)
    .description(
      'attempt deliveries again, or all failed and skipped ones of an endpoint; pending ones keep their schedule',
    )
    .option('--endpoint <id>', 'endpoint whose failed and skipped deliveries are resent', count)
    .option('--from <time>', 'first second of the period')
    .option('--to <time>', 'last second of the period; a date means its first second')
    .action(
      async (
        ids: number[],
        { endpoint, from, to }: { endpoint?: number; from?: string; to?: string },
        command: Command,
      ) => {
        const session = await openSession(command)
        const { client, out } = session
        if (endpoint === undefined) {
          if (ids.length === 0) {
            throw new CommandError(
              'Name deliveries, or an endpoint with --endpoint, --from and --to.',
              EXIT.usage,
            )
          }
          return eachNoted(session, ids, {
            handle: (id) => client.tools.deliveries.resend(id),
            text: (id) => `Resending ${id}.`,
          })
        }
        if (from === undefined || to === undefined || ids.length > 0) {
          throw new CommandError('--endpoint needs --from and --to, and no ids.', EXIT.usage)
        }
        const deliveries = await client.tools.webhooks.resend(endpoint, { from, to })
        out.record({ deliveries }, [['Deliveries', deliveries]])
      },
    )
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
        // A delivery that a person examines by hand may be old, and is genuine nevertheless.
        const event = await verify(body, headers, secret, { toleranceSeconds: Infinity }).catch(
          (error) => {
            if (error instanceof SyntaxError) return null
            throw error
          },
        )
        if (typeof event?.event !== 'string') {
          throw new CommandError('The signature is genuine, but the body is not an event.')
        }
        openOutput(optionsOf(command)).record(event, [
          ['Genuine', 'yes'],
          ['Event', event.event],
        ])
      },
    )
}

function showSecret(
  out: Output,
  { endpoint, secret }: { endpoint: WebhookEndpoint; secret: string },
): void {
  out.record({ ...endpoint, secret }, [
    ['ID', endpoint.id],
    ['Secret', secret],
  ])
  out.note('Store the secret now: it is not shown again.')
}
