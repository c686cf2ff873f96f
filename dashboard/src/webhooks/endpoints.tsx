import { type ReactNode, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { WEBHOOK_EVENTS } from '../../../server/enums.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { readChoices } from '../ui/choices.ts'
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx'
import { CheckboxGroup, DateField, Select, TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { calendarDate, plural, serviceNow } from '../ui/format.ts'
import { List } from '../ui/list.tsx'
import { Menu } from '../ui/menu.tsx'
import { Notice } from '../ui/notice.tsx'
import { optionsOf } from '../ui/options.ts'
import { SecretDialog, useSecret } from '../ui/secret.tsx'
import { Empty, Loaded, Status } from '../ui/states.tsx'
import { notify } from '../ui/toast.tsx'
import { useAttempt } from '../ui/use-attempt.ts'
import { DateTime } from '../ui/values.tsx'
import {
  addEndpoint,
  deleteEndpoint,
  type EndpointRecord,
  enableEndpoint,
  resendMissed,
  rotateSecret,
  sendTest,
  useEndpoints,
} from './api.ts'

const EVENTS: Record<(typeof WEBHOOK_EVENTS)[number], string> = {
  'order.created': 'An order was placed',
  'order.cancelled': 'An order was cancelled',
  'order.label_ready': 'A label or tracking code is ready',
  'listing.sold': 'Units of a listing were sold',
}

type Asked = { about: 'test' | 'resend' | 'rotate' | 'delete'; endpoint: EndpointRecord }

export function EndpointsTab() {
  const endpoints = useEndpoints()
  const [isAdding, setIsAdding] = useState(false)
  const [secret, setSecret] = useSecret<string>()
  const [asked, setAsked] = useState<Asked>()
  const close = () => setAsked(undefined)
  const add = (
    <Button look="primary" icon="plus" onPress={() => setIsAdding(true)}>
      Add endpoint
    </Button>
  )
  return (
    <Loaded query={endpoints}>
      {(rows) => (
        <>
          {rows.length === 0 ? (
            <Empty title="No endpoints yet" icon="webhooks" action={add}>
              Add the address of your software, and the service notifies it of orders as they
              happen.
            </Empty>
          ) : (
            <>
              <div className="page-actions end">{add}</div>
              <List className="endpoints">
                {rows.map((endpoint) => (
                  <EndpointCard
                    key={endpoint.id}
                    endpoint={endpoint}
                    onAsk={(about) => setAsked({ about, endpoint })}
                  />
                ))}
              </List>
            </>
          )}
          {isAdding && (
            <AddDialog endpoints={rows} onClose={() => setIsAdding(false)} onAdded={setSecret} />
          )}
          {secret && (
            <SecretDialog
              title="Signing secret"
              secret={secret}
              onClose={() => setSecret(undefined)}
            >
              Your software checks with it that a request comes from here.
            </SecretDialog>
          )}
          {asked?.about === 'test' && <TestDialog endpoint={asked.endpoint} onClose={close} />}
          {asked?.about === 'resend' && <ResendDialog endpoint={asked.endpoint} onClose={close} />}
          {asked?.about === 'rotate' && (
            <ConfirmDialog
              title="Rotate the signing secret?"
              confirm="Rotate secret"
              isDangerous={false}
              onConfirm={async (idempotencyKey) =>
                setSecret(await rotateSecret(asked.endpoint.id, idempotencyKey))
              }
              onClose={close}
            >
              <p>
                <code>{asked.endpoint.url}</code> gets a new secret, which signs all requests from
                now on. For 24 hours they also carry <code>X-Service-Signature-Previous</code>, made
                with the current secret, so that your software can change over without a gap. A
                secret that was rotated before stops at once.
              </p>
            </ConfirmDialog>
          )}
          {asked?.about === 'delete' && (
            <ConfirmDialog
              title="Delete this endpoint?"
              confirm="Delete endpoint"
              onConfirm={async () => {
                await deleteEndpoint(asked.endpoint.id)
                notify('The endpoint was deleted.')
              }}
              onClose={close}
            >
              <p>
                <code>{asked.endpoint.url}</code> gets no further events. Its secret is lost, and
                deliveries that are waiting are not sent.
              </p>
            </ConfirmDialog>
          )}
        </>
      )}
    </Loaded>
  )
}

function EndpointCard({
  endpoint,
  onAsk,
}: {
  endpoint: EndpointRecord
  onAsk: (about: Asked['about']) => void
}) {
  const [, navigate] = useLocation()
  const { id, url, events, active, consecutive_failures: failures } = endpoint
  const log = `/webhooks/deliveries?endpoint_id=${id}`
  return (
    <li className="section">
      <header className="section-header">
        <h2 className="endpoint-url">{url}</h2>
        <div className="page-actions">
          {active ? (
            failures > 0 ? (
              <Badge tone="warn">{plural(failures, 'failure')} in a row</Badge>
            ) : (
              <Badge tone="good">Active</Badge>
            )
          ) : (
            <Badge tone="bad">Disabled</Badge>
          )}
          <Menu
            label={`Actions for ${url}`}
            entries={[
              {
                label: 'Send a test event',
                icon: 'right',
                isDisabled: !active,
                onAction: () => onAsk('test'),
              },
              {
                label: 'Resend missed deliveries',
                icon: 'refresh',
                isDisabled: !active,
                onAction: () => onAsk('resend'),
              },
              { label: 'Rotate the secret', icon: 'keys', onAction: () => onAsk('rotate') },
              { label: 'Show deliveries', icon: 'search', onAction: () => navigate(log) },
              {
                label: 'Delete endpoint',
                icon: 'trash',
                isDangerous: true,
                onAction: () => onAsk('delete'),
              },
            ]}
          />
        </div>
      </header>
      <List className="events" aria-label="Events">
        {events.map((event) => (
          <li key={event}>
            <code title={EVENTS[event]}>{event}</code>
          </li>
        ))}
      </List>
      {active
        ? failures > 0 && (
            <Trouble tone="warn">
              <p>{endpoint.failure_reason}</p>
              <p>After 10 failed deliveries in a row the endpoint is disabled.</p>
            </Trouble>
          )
        : endpoint.disabled_at && <Disabled endpoint={endpoint} />}
      <p className="help">
        Added <DateTime at={endpoint.created_at} look="date" /> · <Link href={log}>Deliveries</Link>
      </p>
    </li>
  )
}

const Disabled = ({ endpoint }: { endpoint: EndpointRecord }) => (
  <Trouble tone="bad">
    <p>
      <strong>
        Disabled since <DateTime at={endpoint.disabled_at} /> after{' '}
        {plural(endpoint.consecutive_failures, 'failed delivery', 'failed deliveries')} in a row.
      </strong>
    </p>
    {endpoint.failure_reason && <p>{endpoint.failure_reason}</p>}
    <p>
      <ActionButton
        size="small"
        act={async () => {
          await enableEndpoint(endpoint.id)
          notify('The endpoint is active. You can resend the deliveries that it has missed.')
        }}
      >
        Enable endpoint
      </ActionButton>
    </p>
  </Trouble>
)

const Trouble = ({ tone, children }: { tone: 'warn' | 'bad'; children: ReactNode }) => (
  <Notice tone={tone}>
    <div className="prose">{children}</div>
  </Notice>
)

function AddDialog({
  endpoints,
  onClose,
  onAdded,
}: {
  endpoints: EndpointRecord[]
  onClose: () => void
  onAdded: (secret: string) => void
}) {
  const attempt = useAttempt()
  const [url, setUrl] = useState('')
  // The list from before this dialog, because an earlier attempt of the dialog may have added the endpoint.
  const [known] = useState(endpoints)
  const isKnown = known.some((endpoint) => endpoint.url === url.trim())
  return (
    <Dialog title="Add endpoint" isModalStrict onClose={onClose}>
      <Form
        submit="Add endpoint"
        cancel="Cancel"
        onSubmit={async (data) => {
          const input = {
            url: String(data.get('url')),
            events: readChoices(data, 'events'),
          }
          onAdded(await addEndpoint(input, attempt(input)))
          onClose()
        }}
      >
        <TextField
          label="URL"
          name="url"
          type="url"
          inputMode="url"
          autoFocus
          isRequired
          isMonospaced
          placeholder="https://shop.example/hooks/cards"
          value={url}
          onChange={setUrl}
          help="A public http or https address of your software."
        />
        <Status>
          {isKnown &&
            'There is an endpoint with this URL already. With a second one, it gets each event twice.'}
        </Status>
        <CheckboxGroup
          label="Events"
          name="events"
          isRequired
          defaultValue={[...WEBHOOK_EVENTS]}
          options={WEBHOOK_EVENTS.map((event) => ({
            value: event,
            label: event,
            help: EVENTS[event],
          }))}
        />
      </Form>
    </Dialog>
  )
}

function TestDialog({ endpoint, onClose }: { endpoint: EndpointRecord; onClose: () => void }) {
  const [, navigate] = useLocation()
  return (
    <Dialog title="Send a test event" onClose={onClose}>
      <Form
        submit="Send"
        cancel="Cancel"
        onSubmit={async (data) => {
          const { id } = await sendTest(endpoint.id, String(data.get('event')))
          notify('The test event is being sent.')
          return () => navigate(`/webhooks/deliveries/${id}`)
        }}
      >
        <Select
          label="Event"
          name="event"
          defaultValue={endpoint.events[0]}
          options={optionsOf(WEBHOOK_EVENTS)}
          help="It is signed and logged like a real event, and about the order 0, which doesn’t exist."
        />
      </Form>
    </Dialog>
  )
}

const ResendDialog = ({ endpoint, onClose }: { endpoint: EndpointRecord; onClose: () => void }) => (
  <Dialog title="Resend missed deliveries" onClose={onClose} isModalStrict>
    <Form
      submit="Resend"
      cancel="Cancel"
      onSubmit={async (data) => {
        const [from, to] = [String(data.get('from')), String(data.get('to'))]
        const count = await resendMissed(endpoint.id, from, to)
        notify(`${plural(count, 'delivery is', 'deliveries are')} being sent again.`)
        onClose()
      }}
    >
      <p className="help">
        Every delivery of this period that failed or was skipped is attempted once more. Receivers
        recognise repeated deliveries by their <code>delivery_id</code>.
      </p>
      <DateField
        label="From"
        name="from"
        isRequired
        defaultValue={calendarDate(endpoint.missed_since ?? now())}
      />
      <DateField label="To" name="to" isRequired defaultValue={calendarDate(now())} />
    </Form>
  </Dialog>
)

const now = () => serviceNow().toISOString()
