-- Deleting a payout looks for its transfers.
create index payout_transfers_payout on payout_transfers (payout_id);
