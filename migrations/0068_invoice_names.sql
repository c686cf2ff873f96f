-- The names that an invoice was issued with: PAYOUT_NAME and the seller's shop name change, the invoice doesn't. Earlier
-- invoices have none.
alter table invoice_months add column issuer text;
alter table fee_invoices add column recipient text;
