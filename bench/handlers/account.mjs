// An answer of some 300 bytes, as a service gives one for an account.
export const account = (number) => ({
  account: `acct_${String(number).padStart(8, '0')}`,
  owner: { name: 'Ada Example', mail: `ada+${number}@example.com`, since: 1546300800000 },
  balance: { amount: 100000 + number, currency: 'EUR', pending: [250, 1999, 12050] },
  limits: { daily: 500000, single: 100000 },
  flags: ['verified', 'two-factor', 'europe'],
  note: 'opened in person, papers seen',
});
