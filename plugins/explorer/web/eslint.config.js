import jsxA11y from "eslint-plugin-jsx-a11y";
import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules", "../src", "playwright-report", "test-results"] },
  ...tseslint.configs.strict,
  jsxA11y.flatConfigs.recommended,
  {
    files: ["src/**/*.{ts,tsx}"],
    plugins: { "react-hooks": hooks },
    rules: {
      ...hooks.configs.recommended.rules,
      "no-console": "error",
      "max-lines": ["error", 500],
    },
  },
  {
    // What the service says is read and written by api/json.ts alone, or whole numbers are rounded.
    // The others keep what the page itself has made.
    files: ["src/**/*.{ts,tsx}"],
    ignores: [
      "src/**/*.test.ts",
      "src/api/json.ts",
      "src/models/UploadModels.tsx",
      "src/query/storage.ts",
      "src/session/**",
    ],
    rules: {
      "no-restricted-properties": [
        "error",
        { object: "JSON", message: "Use parseJson and renderJson of api/json.ts." },
      ],
      "no-restricted-syntax": [
        "error",
        {
          selector: "CallExpression[callee.property.name='json'][arguments.length=0]",
          message: "Use readBody of api/http.ts.",
        },
      ],
    },
  },
);
