/** Writes error texts for zod: `is missing; it must be …`, `must be …`; a text that YAML took for a number needs quotes. */
export function expectedMessage(what: string): { error: (issue: { readonly input?: unknown }) => string } {
  return {
    error: ({ input }) => {
      if (input === undefined) return `is missing; it must be ${what}`;
      const isBare = typeof input === 'number' || typeof input === 'boolean';
      return isBare && what.startsWith('text') ? `must be ${what}: put it into quotes` : `must be ${what}`;
    },
  };
}
