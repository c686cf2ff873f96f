-- Cancellations by the system, and reminders of sellers. See docs/after-sale.md.

-- When the pending rows of the slice are cancelled, as announced to the seller by e-mail.
alter table slices add column cancel_at timestamptz;

-- The seller was reminded of a label whose parcel is not marked as shipped.
alter table shipments add column reminded_at timestamptz;

-- The seller was last reminded that orders wait for the payout setup.
alter table accounts add column setup_reminded_at timestamptz;
