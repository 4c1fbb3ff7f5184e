// A migration as apps have it: it records what it did, and fails on request.
import pg from 'pg';

const [, , name, shouldFail] = process.argv;
const client = new pg.Client({ connectionString: process.env.DATABASE_URI, connectionTimeoutMillis: 5000 });
await client.connect();
await client.query('CREATE TABLE IF NOT EXISTS migrations (name text, at timestamptz DEFAULT now())');
console.log(`migration ${name} of version ${process.env.APP_VERSION}`);
if (shouldFail !== undefined) {
  console.error(`migration ${name} cannot change the table`);
  process.exit(4);
}
await client.query('INSERT INTO migrations (name) VALUES ($1)', [name]);
await client.end();
