/*
 * web_words.cc - the tables of words, and nothing else.
 *
 * Read through web_words.h by what writes the web log. A changed word changes the
 * generated texts, so figures measured before and after are not of the same data.
 */
#include "web_words.h"

namespace turbine::datagen {
namespace {

constexpr std::string_view kEnglish[] = {
    "garden",  "cheap",   "weather",  "tickets", "how to", "repair", "winter", "recipe", "camera", "train",
    "holiday", "kitchen", "used",     "bicycle", "map",    "café",   "guide",  "review", "free",   "online",
    "price",   "house",   "music",    "game",    "school", "doctor", "jobs",   "car",    "flight", "film",
    "news",    "history", "mountain", "river",   "bread",  "coffee", "naïve",  "piano",  "summer", "market"};
constexpr std::string_view kGerman[] = {
    "Küche",   "Gärten",    "günstig",  "Wetter",    "Fahrräder", "Straße", "Bücher",      "Öffnungszeiten", "für",
    "Mädchen", "Übersicht", "Rezept",   "Schlüssel", "Häuser",    "größer", "Kühlschrank", "Züge",           "Städte",
    "Vögel",   "Käse",      "Brötchen", "Ärzte",     "Lösung",    "Spiele", "Nachrichten", "Prüfung",        "Möbel",
    "schöne",  "Geräte",    "über",     "Flüge",     "Hörbuch",   "Maß",    "Frühling",    "Kälte"};
constexpr std::string_view kFrench[] = {
    "hôtel",    "été",  "forêt",  "recette", "gâteau", "pâtisserie", "théâtre", "musée", "à vendre", "élève",
    "maçon",    "île",  "cinéma", "fenêtre", "bébé",   "célèbre",    "société", "plage", "château",  "garçon",
    "français", "noël", "œuvre",  "crème",   "marché", "météo",      "vélo",    "école", "près",     "dîner"};
constexpr std::string_view kSpanish[] = {
    "año",     "niños",   "mañana", "canción", "música",   "viaje",  "avión",  "habitación", "playa", "español",
    "corazón", "sueños",  "dónde",  "cómo",    "camión",   "limón",  "jardín", "películas",  "más",   "fútbol",
    "árbol",   "montaña", "piñata", "fácil",   "teléfono", "último", "receta", "precio",     "señal", "otoño"};
constexpr std::string_view kPolish[] = {
    "żółty",   "źródło",  "książka", "łódź",   "święta",   "śnieg",     "góry",  "pociąg",   "mieszkanie", "zdjęcia",
    "kuchnia", "przepis", "pogoda",  "wiosna", "dziękuję", "ćwiczenia", "ogród", "samochód", "szkoła",     "jabłko",
    "miłość",  "światło", "różne",   "tanie",  "bilety",   "słońce",    "wąż",   "część",    "główny",     "noc"};
constexpr std::string_view kRussian[] = {"погода", "новости", "карта", "рецепт", "купить",  "дом",   "сад",  "музыка",
                                         "фильм",  "билеты",  "поезд", "машина", "работа",  "школа", "врач", "цена",
                                         "отзывы", "горы",    "река",  "лето",   "зима",    "книга", "игра", "телефон",
                                         "хлеб",   "кухня",   "ёлка",  "щенок",  "скачать", "онлайн"};
constexpr std::string_view kGreek[] = {"καιρός", "νησί",   "θάλασσα",  "μουσική", "ταινία",   "συνταγή", "σπίτι",
                                       "βιβλίο", "ψωμί",   "τρένο",    "σχολείο", "γιατρός",  "τιμή",    "κήπος",
                                       "βουνό",  "ποτάμι", "χειμώνας", "άνοιξη",  "ειδήσεις", "χάρτης"};
constexpr std::string_view kJapanese[] = {"天気",   "地図",     "料理", "映画", "音楽", "電車",     "京都",   "旅行",
                                          "学校",   "仕事",     "値段", "庭",   "冬",   "ニュース", "カメラ", "自転車",
                                          "ゲーム", "コーヒー", "パン", "病院", "写真", "おすすめ", "レシピ", "ホテル"};

constexpr Language kLanguages[] = {{"en", kEnglish}, {"de", kGerman}, {"ru", kRussian},  {"fr", kFrench},
                                   {"es", kSpanish}, {"pl", kPolish}, {"ja", kJapanese}, {"el", kGreek}};

constexpr std::string_view kAddressWords[] = {
    "garden",   "atlas",   "kitchen", "harbour",  "market",  "pixel",    "forest",  "paper",   "silver",  "cloud",
    "bicycle",  "window",  "tiger",   "lantern",  "copper",  "island",   "bridge",  "orange",  "planet",  "mirror",
    "anchor",   "basket",  "candle",  "desert",   "engine",  "falcon",   "guitar",  "hammer",  "insect",  "jacket",
    "kettle",   "ladder",  "magnet",  "needle",   "oyster",  "pepper",   "quarry",  "ribbon",  "saddle",  "temple",
    "umbrella", "valley",  "walnut",  "yellow",   "zephyr",  "acorn",    "button",  "carpet",  "dolphin", "ember",
    "feather",  "glacier", "honey",   "ivory",    "jungle",  "koala",    "lemon",   "meadow",  "nutmeg",  "olive",
    "prairie",  "quill",   "river",   "sparrow",  "thunder", "urchin",   "velvet",  "willow",  "yarrow",  "zinc",
    "autumn",   "blanket", "cinema",  "daylight", "evening", "fountain", "gallery", "history", "imagine", "journey",
    "keyboard", "library", "morning", "network",  "outdoor", "picture",  "quality", "railway", "station", "travel",
    "uniform",  "village", "weather", "example",  "younger", "zebra",    "almanac", "bakery",  "compass", "diary"};

}  // namespace

std::span<const Language> languages() { return kLanguages; }
std::span<const std::string_view> address_words() { return kAddressWords; }

}  // namespace turbine::datagen
