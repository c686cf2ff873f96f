export const isDialogOpen = () =>
  document.querySelector('dialog[open], [role="dialog"], [role="alertdialog"]') !== null
