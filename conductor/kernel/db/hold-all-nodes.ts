import { nodeFaults } from '#conductor/model/node-words.ts';

/** One statement with its values. */
export type Ask = (text: string, values?: readonly string[]) => Promise<unknown>;

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

/** Of dumps that have them: the conductor migrates older ones later. */
const laterTargets = ['target_boot_mode', 'target_secure_boot'];

async function forgetLaterTargets(ask: Ask): Promise<void> {
  const { rows } = (await ask(
    `select column_name as name from information_schema.columns
     where table_schema = 'public' and table_name = 'nodes' and column_name = any(string_to_array($1, ','))`,
    [laterTargets.join()],
  )) as { readonly rows: readonly { readonly name: string }[] };
  if (rows.length === 0) return;
  await ask(`update nodes set ${rows.map(({ name }) => `${name} = null`).join(', ')}`);
}
