import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { useMe } from '../shell/me.ts'
import { Notice } from '../ui/notice.tsx'
import { type PayoutSetupRecord, readSetup } from './api.ts'

const TEXTS = {
  missing: {
    title: 'Your payout setup is missing:',
    text: 'you can’t list, ship or be paid.',
    link: 'Enter the bank account',
  },
  submitted: {
    title: 'Your bank account is being checked:',
    text: 'until it is verified, you can’t list, ship or be paid.',
    link: 'Payout setup',
  },
  rejected: {
    title: 'Your bank account was rejected:',
    text: 'you can’t list, ship or be paid.',
    link: 'Change the bank account',
  },
  verified: {
    title: 'Your bank account is missing:',
    text: 'your payouts are held until you have entered and confirmed it.',
    link: 'Enter the bank account',
  },
}

/** @param email of the shop, which is not always that of the member */
function unconfirmed(email: string | undefined, isVerified: boolean) {
  const consequence = isVerified
    ? 'Your payouts are held until then.'
    : 'You can’t list, ship or be paid until the bank account is verified.'
  return {
    title: 'Your bank account waits for your confirmation:',
    text: `open the link in the e-mail that we have sent to ${email}, the address of the shop. ${consequence}`,
    link: 'Payout setup',
  }
}

/** Says that the seller can't be paid, until the payout setup is verified and has a bank account. */
export function PayoutSetupNotice() {
  const setup = useQuery({ queryKey: ['payouts', 'setup'], queryFn: readSetup }).data?.data
  const me = useMe().data
  if (!setup) return null
  const isVerified = setup.state === 'verified'
  if (isVerified && !lacksBankAccount(setup, me?.sandbox)) return null
  const { title, text, link } =
    setup.unconfirmed_until === null
      ? TEXTS[setup.state]
      : unconfirmed(me?.account.email, isVerified)
  return (
    <Notice tone="warn">
      <strong>{title}</strong> {text} <Link href="/payouts/setup">{link}</Link>
    </Notice>
  )
}

/**
 * Whether payouts are held although the setup is verified: the operator can verify a seller who has no bank account. The
 * sandbox pays such a seller to a test account.
 */
export const lacksBankAccount = (
  { state, submitted_at: at }: PayoutSetupRecord,
  isSandbox: boolean | undefined,
) => state === 'verified' && at === null && isSandbox === false
