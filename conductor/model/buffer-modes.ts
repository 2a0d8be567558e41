/** What becomes of what the buffer holds already (airship.md §5). */
export const bufferModes = ['append', 'replace', 'rejectoncontents'] as const;
export type BufferMode = (typeof bufferModes)[number];
/** Of them what a rollback may do: it says what all collections are. */
export const rollbackModes = ['replace', 'rejectoncontents'] as const;
export type RollbackMode = (typeof rollbackModes)[number];
