import { and, asc, eq, gt, inArray, isNull, lte, type SQL, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type SiteActionNoteRow, siteActionNotes } from '#conductor/kernel/db/schema/site-action.ts';
import { storableJson } from '#conductor/kernel/db/storable-json.ts';
import type { ActionStepName } from '#conductor/model/action-table.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** What has happened, for people. */
export interface Note {
  /** Absent = the action as a whole. */
  readonly step?: ActionStepName;
  /** A group or a node. */
  readonly subject?: string;
  /** 1 = what everybody must know … 5 = every detail (airship.md §4.6). */
  readonly verbosity: 1 | 2 | 3 | 4 | 5;
  readonly text: string;
}

/** Appends the notes, in one statement. */
export async function addNotes(db: Queryable, actionId: string, notes: readonly Note[]): Promise<void> {
  if (notes.length === 0) return;
  await db.execute(sql`
    insert into site_action_notes (action_id, step, subject, verbosity, text)
    select ${actionId}::text, step, subject, verbosity, text
    from jsonb_to_recordset(${JSON.stringify(storableJson(notes))}::text::jsonb)
      as note(step text, subject text, verbosity integer, text text)`);
}

/**
 * In the order in which they were written.
 * @param step of one step; null = of the action as a whole; absent = all
 * @param since only those behind the one with this id: whoever writes holds the action's row, so that ids of an action
 * become visible in their order
 */
export function listNotes(
  db: Queryable,
  actionIds: readonly string[],
  filter: { readonly verbosity: number; readonly step?: string | null; readonly since?: number | undefined },
): Promise<SiteActionNoteRow[]> {
  return db
    .select()
    .from(siteActionNotes)
    .where(
      and(
        inArray(siteActionNotes.actionId, [...actionIds]),
        lte(siteActionNotes.verbosity, filter.verbosity),
        ofStep(filter.step),
        filter.since === undefined ? undefined : gt(siteActionNotes.id, filter.since),
      ),
    )
    .orderBy(asc(siteActionNotes.id));
}

/** One, of whichever action. @throws AppError `not_found` */
export async function getNote(db: Queryable, id: string): Promise<SiteActionNoteRow> {
  const isId = /^\d{1,26}$/.test(id) && Number(id) <= Number.MAX_SAFE_INTEGER;
  const [row] = isId
    ? await db
        .select()
        .from(siteActionNotes)
        .where(eq(siteActionNotes.id, Number(id)))
    : [];
  if (!row) throw new AppError('not_found', `Note ${id} could not be found.`);
  return row;
}

function ofStep(step: string | null | undefined): SQL | undefined {
  if (step === undefined) return undefined;
  return step === null ? isNull(siteActionNotes.step) : eq(siteActionNotes.step, step);
}
