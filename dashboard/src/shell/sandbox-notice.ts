import type { Me } from '../../../server/http/dashboard/me.ts'

/** The notice of a sandbox, which names the effects outside it; undefined outside the sandbox. */
export function sandboxNotice({ sandbox, buys_labels, sends_mail }: Me): string | undefined {
  if (!sandbox) return undefined
  const notice = buys_labels
    ? 'Everything here is test data, but labels are real: the carrier charges for each one.'
    : 'Everything here is test data: no money moves and no parcel ships.'
  return sends_mail ? `${notice} E-mails are really sent.` : notice
}
