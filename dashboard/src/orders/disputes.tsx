import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { readAgain } from '../query-client.ts'
import { Badge } from '../ui/badge.tsx'
import { TextArea } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { List } from '../ui/list.tsx'
import { Facts, Section } from '../ui/section.tsx'
import { Loaded } from '../ui/states.tsx'
import { notify } from '../ui/toast.tsx'
import { Unsent } from '../ui/unsent.tsx'
import { DateTime, Money } from '../ui/values.tsx'
import { answerDispute, type Dispute, disputesOf, type OrderRow } from './api.ts'
import { DISPUTES, PROBLEMS } from './words.ts'

/** The disputes about a slice with these rows, with the form for the answer. */
export function Disputes({ order, rows }: { order: number; rows: OrderRow[] }) {
  const disputes = useQuery({
    queryKey: ['orders', order, 'disputes'],
    queryFn: () => disputesOf(order),
  })
  return (
    <Loaded query={disputes} lines={3}>
      {(all) =>
        all.map((dispute) => (
          <DisputeSection
            key={dispute.id}
            dispute={dispute}
            row={rows.find(({ id }) => id === dispute.order_id)}
          />
        ))
      }
    </Loaded>
  )
}

function DisputeSection({ dispute, row }: { dispute: Dispute; row: OrderRow | undefined }) {
  const { state, answer, refund, resolution } = dispute
  return (
    <Section
      title={`Dispute about ${dispute.item_name ?? `order ${dispute.order_id}`}`}
      actions={<Badge tone={DISPUTES[state].tone}>{DISPUTES[state].label}</Badge>}
    >
      <Facts
        facts={[
          { label: 'Problem', value: PROBLEMS[dispute.reason] },
          { label: 'Reported', value: <DateTime at={dispute.opened_at} /> },
          ...(state === 'open'
            ? [{ label: 'Answer by', value: <DateTime at={dispute.answer_by} /> }]
            : []),
          ...(dispute.resolved_at
            ? [{ label: 'Resolved', value: <DateTime at={dispute.resolved_at} /> }]
            : []),
          ...(refund ? [{ label: 'Refunded', value: <Money amount={refund} /> }] : []),
        ]}
      />
      {dispute.message && <blockquote>{dispute.message}</blockquote>}
      {answer && (
        <>
          <p>
            You answered <DateTime at={answer.answered_at} />
            {answer.message === '' ? '. The text was erased with the buyer’s data.' : ':'}
          </p>
          {answer.message && <blockquote>{answer.message}</blockquote>}
          {answer.photo_urls.length > 0 && (
            <List className="links">
              {answer.photo_urls.map((url) => (
                <li key={url}>
                  <a href={url} target="_blank" rel="noreferrer nofollow">
                    {url}
                  </a>
                </li>
              ))}
            </List>
          )}
        </>
      )}
      {resolution && (
        <p>
          <strong>{outcomeOf(dispute, row)}</strong>
        </p>
      )}
      <AnswerForm dispute={dispute} />
    </Section>
  )
}

/**
 * The decision in a sentence. A partial refund can be recorded for the buyer as well: unlike a decision for the buyer, it
 * did not cancel the row. Without the row, the sentence names the buyer for both.
 */
export const outcomeOf = ({ resolution, refund, resolved_at: at }: Dispute, row?: OrderRow) => {
  const isPartial = resolution === 'seller' || (row && row.cancelled_at !== at)
  if (refund && isPartial) return 'The marketplace decided for a partial refund.'
  return resolution === 'buyer'
    ? 'The marketplace decided for the buyer.'
    : 'The marketplace decided in your favour.'
}

/** The form for the answer to an open dispute. If another member has answered meanwhile, a typed text can be copied. */
function AnswerForm({ dispute }: { dispute: Dispute }) {
  const [message, setMessage] = useState('')
  const [links, setLinks] = useState('')
  const forget = () => {
    setMessage('')
    setLinks('')
  }
  if (dispute.state !== 'open') {
    const text = [message, links].filter(Boolean).join('\n')
    return text === '' || message.trim() === dispute.answer?.message ? null : (
      <Unsent text={text} onDrop={forget}>
        This dispute can no longer be answered. Your text was not sent:
      </Unsent>
    )
  }
  return (
    <Form
      label="Answer the dispute"
      submit="Send the answer"
      onSubmit={async () => {
        const photo_urls = links.split(/\s+/).filter(Boolean)
        await answerDispute(dispute.order_id, { dispute_id: dispute.id, message, photo_urls })
        notify('Your answer was sent.')
        await readAgain(['orders'])
        forget()
        await readAgain(['overview'])
      }}
    >
      <TextArea
        name="message"
        label="Your answer"
        value={message}
        onChange={setMessage}
        help="The buyer gets it by e-mail. You can answer once."
      />
      <TextArea
        name="photo_urls"
        label="Links to photos"
        isOptional
        rows={2}
        value={links}
        onChange={setLinks}
        help="Up to 10 links, one on each line. They must be public."
      />
    </Form>
  )
}
