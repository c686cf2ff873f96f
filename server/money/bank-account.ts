export type BankAccount = { holder: string; iban: string }

/** The parts of a bank account that are shown. The IBAN itself is shown to nobody. */
export type ShownBankAccount = { holder: string; ibanLast4: string; country: string }
