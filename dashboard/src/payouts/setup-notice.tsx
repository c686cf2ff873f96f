import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { Icon } from '../ui/icons.tsx'
import { readSetup } from './api.ts'

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
}

const UNCONFIRMED = {
  title: 'Your bank account waits for your confirmation:',
  text: 'open the link in the e-mail that we have sent you. You can’t list, ship or be paid until the bank account is verified.',
  link: 'Payout setup',
}

/** Says that the seller can't be paid, until the payout setup is verified. */
export function PayoutSetupNotice() {
  const setup = useQuery({ queryKey: ['payouts', 'setup'], queryFn: readSetup }).data?.data
  if (!setup || setup.state === 'verified') return null
  const { title, text, link } = setup.unconfirmed_until === null ? TEXTS[setup.state] : UNCONFIRMED
  return (
    <div className="notice warn">
      <Icon name="warning" />
      <div>
        <strong>{title}</strong> {text} <Link href="/payouts/setup">{link}</Link>
      </div>
    </div>
  )
}
