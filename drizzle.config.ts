import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: './conductor/db/schema/index.ts',
  out: './conductor/db/migrations',
  casing: 'snake_case',
});
