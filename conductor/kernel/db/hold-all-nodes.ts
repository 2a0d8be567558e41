import { nodeFaults } from '#conductor/model/node-words.ts';

type Row = Readonly<Record<string, string | number | boolean | null>>;
/** Runs one statement with its values on a connection. */
export type Ask = (text: string, values?: readonly string[]) => Promise<{ readonly rows: readonly Row[] }>;

/**
 * Puts all nodes into maintenance `restored`: what the database says of them is past. A flow that goes on would erase what is
 * on the machines by now, and a power target switch them off. What was read of machines and agents is unknown until it is
 * read again.
 * @param ask within a transaction, or alone on the database
 */
export async function holdAllNodes(ask: Ask, { reason, by }: { readonly reason: string; readonly by: string }) {
  await ask(
    `update nodes set maintenance = true, fault = '${nodeFaults.restored}', updated_at = now(), power_state = null,
      target_power_state = null, maintenance_reason = case when maintenance then maintenance_reason else $1 end`,
    [reason],
  );
  await ask('update agent_sessions set last_heartbeat_at = null');
  await ask(
    `insert into node_history (uuid, node_uuid, severity, event_type, event, conductor)
      select gen_random_uuid(), uuid, 'INFO', 'maintenance', 'maintenance on: ' || $1, $2 from nodes`,
    [reason, by],
  );
  await forgetLaterTargets(ask);
}

/** Columns that dumps of older releases lack: those are migrated when the conductor starts. */
const laterTargets = ['target_boot_mode', 'target_secure_boot'];

async function forgetLaterTargets(ask: Ask): Promise<void> {
  const { rows } = await ask(
    `select column_name as name from information_schema.columns
     where table_schema = 'public' and table_name = 'nodes' and column_name = any(string_to_array($1, ','))`,
    [laterTargets.join()],
  );
  if (rows.length === 0) return;
  await ask(`update nodes set ${rows.map(({ name }) => `${name} = null`).join(', ')}`);
}
