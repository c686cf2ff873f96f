import { ActionButton } from '../ui/action-button.tsx'
import { Code } from '../ui/code.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { List } from '../ui/list.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { Facts, Section } from '../ui/section.tsx'
import { Loaded } from '../ui/states.tsx'
import { notify } from '../ui/toast.tsx'
import { DateTime, Missing } from '../ui/values.tsx'
import {
  type DeliveryRecord,
  type EndpointRecord,
  resend,
  useDelivery,
  useEndpoints,
} from './api.ts'
import { StatusBadge } from './deliveries.tsx'

/** One delivery with its payload and every attempt. */
export function DeliveryPage({ id }: { id: string }) {
  const delivery = useDelivery(id)
  const endpoint = useEndpoints().data?.find(({ id }) => id === delivery.data?.endpoint_id)
  const canReceive = endpoint?.active && !delivery.data?.endpoint_deleted
  return (
    <>
      <PageHeader
        title={delivery.data ? `${delivery.data.event} #${id}` : `Delivery #${id}`}
        back={{ href: '/webhooks/deliveries', label: 'Deliveries' }}
        actions={
          delivery.data &&
          canReceive && (
            <ActionButton
              icon="refresh"
              act={async () => {
                await resend(delivery.data.id)
                notify('The delivery is being sent again.')
              }}
            >
              Resend
            </ActionButton>
          )
        }
      />
      <Loaded query={delivery}>{(data) => <Delivery delivery={data} endpoint={endpoint} />}</Loaded>
    </>
  )
}

function Delivery({
  delivery,
  endpoint,
}: {
  delivery: DeliveryRecord
  /** Undefined if it is deleted, or not read yet. */
  endpoint: EndpointRecord | undefined
}) {
  const payload = JSON.stringify(delivery.payload, null, 2)
  return (
    <>
      <Facts
        facts={[
          { label: 'Status', value: <StatusBadge status={delivery.status} /> },
          { label: 'Time of the event', value: <DateTime at={delivery.created_at} /> },
          { label: 'Next attempt', value: <DateTime at={delivery.next_attempt_at} /> },
          {
            label: 'Endpoint',
            value: delivery.endpoint_deleted ? (
              'Deleted endpoint'
            ) : (
              <EndpointUrl endpoint={endpoint} />
            ),
          },
        ]}
      />
      <Section title="Attempts">
        {delivery.attempts.length === 0 ? (
          <p className="help">{delivery.status === 'pending' ? 'None yet.' : 'None.'}</p>
        ) : (
          <List as="ol" className="attempts">
            {delivery.attempts.toReversed().map((attempt, index, { length }) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: several can have the same second, and none changes its place
              <li key={length - index}>
                <p>
                  <strong className={attempt.error ? 'bad' : 'good'}>
                    {attempt.status_code ?? 'No response'}
                  </strong>{' '}
                  <DateTime at={attempt.at} /> · {attempt.duration_ms} ms
                </p>
                {attempt.error && <p>{attempt.error}</p>}
                {attempt.response && (
                  <Code label="Response of the receiver" text={attempt.response} />
                )}
              </li>
            ))}
          </List>
        )}
      </Section>
      <Section
        title="Payload"
        help="Formatted for reading; the signature is of the bytes that were sent."
        actions={<CopyButton text={payload} />}
      >
        <Code label="Payload" text={payload} />
      </Section>
    </>
  )
}

function EndpointUrl({ endpoint }: { endpoint: EndpointRecord | undefined }) {
  if (!endpoint) return <Missing />
  return (
    <span className="endpoint-url">
      {endpoint.active ? endpoint.url : `${endpoint.url} (disabled)`}
    </span>
  )
}
