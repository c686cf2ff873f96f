-- Whether the shipment was cancelled at the carrier: nobody can use its label, and the seller can cancel the order. Until
-- now the text of the message said so.
alter table shipments add column is_void boolean not null default false;

update shipments
set is_void = true, message = null
where
  status = 'action_required'
  and message = 'The shipment was cancelled at the carrier, and the service buys only one for each order. Ask the marketplace how to ship it.';

alter table shipments
  add constraint shipments_void_labels_are_withheld check (
    not is_void or status is not distinct from 'action_required'
  );
