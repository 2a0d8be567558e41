import { heldByRestore } from '#conductor/model/flows/flow-states.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';

type Row = Readonly<Record<string, string | number | boolean | null>>;
/** Runs one statement with its values on a connection. */
export type Ask = (text: string, values?: readonly string[]) => Promise<{ readonly rows: readonly Row[] }>;

/**
 * Puts all nodes into maintenance `restored`, and pauses the site's actions: what the database says of them is past. A flow
 * that goes on would erase what is on the machines by now, and a power target switch them off; an action would begin with each
 * node whose maintenance a person ends. What was read of machines and agents is unknown until it is read again.
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
  await pauseActions(ask, { reason, by });
  await forgetLaterTargets(ask);
}

/** Dumps of releases that kept actions apart from flows say it in another table. */
async function pauseActions(ask: Ask, { reason, by }: { readonly reason: string; readonly by: string }): Promise<void> {
  if ((await columnsOf(ask, 'flows', ['site_action_id'])).length === 0) {
    if ((await columnsOf(ask, 'site_actions', ['wanted'])).length === 0) return;
    await ask(`update site_actions set wanted = 'pause' where ended_at is null and wanted <> 'stop'`);
    return;
  }
  const paused = `update flows set held = '${heldByRestore}' where site_action_id is not null and ended_at is null
    and abort_requested is null returning site_action_id as id`;
  await ask(
    `with paused as (${paused}), commands as (
      insert into site_action_commands (action_id, command, "user") select id, 'pause', $2 from paused)
     insert into site_action_notes (action_id, verbosity, text) select id, 1, 'paused: ' || $1 from paused`,
    [`${reason}. Say what each node is, then unpause the action, or stop it`, by],
  );
}

/** Columns that dumps of older releases lack: those are migrated when the conductor starts. */
const laterTargets = ['target_boot_mode', 'target_secure_boot'];

async function forgetLaterTargets(ask: Ask): Promise<void> {
  const there = await columnsOf(ask, 'nodes', laterTargets);
  if (there.length === 0) return;
  await ask(`update nodes set ${there.map((name) => `${name} = null`).join(', ')}`);
}

async function columnsOf(ask: Ask, table: string, columns: readonly string[]): Promise<string[]> {
  const { rows } = await ask(
    `select column_name as name from information_schema.columns
     where table_schema = 'public' and table_name = $1 and column_name = any(string_to_array($2, ','))`,
    [table, columns.join()],
  );
  return rows.map(({ name }) => String(name));
}
