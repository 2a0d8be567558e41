import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: './conductor/kernel/db/schema/index.ts',
  out: './conductor/kernel/db/migrations',
  casing: 'snake_case',
});
