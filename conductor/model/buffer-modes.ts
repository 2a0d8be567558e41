/** What becomes of what the buffer holds already (airship.md §5). */
export const bufferModes = ['append', 'replace', 'rejectoncontents'] as const;
export type BufferMode = (typeof bufferModes)[number];
